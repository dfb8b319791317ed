"""Times as speakers of each language name them, and words that look like times."""

from __future__ import annotations

from datetime import date

import pytest

from theanine.retrieval.languages import Language
from theanine.retrieval.temporal import find_intervals

TODAY = date(2026, 2, 20)

QUESTIONS: dict[Language, str] = {
    "de": "Was habe ich {} gekauft?",
    "es": "¿Qué compré {}?",
    "fr": "Qu'est-ce que j'ai acheté {} ?",
    "it": "Che cosa ho comprato {}?",
    "pt": "O que é que eu comprei {}?",
    "hr": "Što sam kupio {}?",
    "ru": "Что я купил {}?",
    "ar": "ماذا اشتريت {}؟",
    "hi": "{} मैंने क्या खरीदा था?",
    "tr": "{} ne satın aldım?",
    "ko": "{} 내가 뭘 샀지?",
    "zh": "我{}买了什么？",
    "ja": "{}に私は何を買った？",
}
PHRASES: dict[Language, str] = {
    "de": """
        gestern Abend = 2026-02-19
        heute Nachmittag = 2026-02-20
        am Dienstagabend = 2026-02-17
        letzte Nacht = 2026-02-19
        am letzten Wochenende = 2026-02-14:2026-02-15
        am Wochenende = 2026-02-14:2026-02-15
        vorletzte Woche = 2026-02-02:2026-02-08
        im letzten Herbst = 2025-09-01:2025-11-30
        im Sommer 2025 = 2025-06-01:2025-08-31
        im Sommer letzten Jahres = 2025-06-01:2025-08-31
        diesen Winter = 2025-12-01:2026-02-20
        im Laufe des letzten Monats = 2026-01-01:2026-01-31
        an Weihnachten 2025 = 2025-12-24:2025-12-26
        letzte Weihnachten = 2025-12-24:2025-12-26
        an Heiligabend letzten Jahres = 2025-12-24
        an Silvester 2024 = 2024-12-31
        letztes Silvester = 2025-12-31
        an Ostern 2025 = 2025-04-18:2025-04-21
        Ende März 2025 = 2025-03-21:2025-03-31
        Anfang letzten Jahres = 2025-01-01:2025-04-30
        Mitte Januar letzten Jahres = 2025-01-11:2025-01-20
        in der zweiten Hälfte des letzten Jahres = 2025-07-01:2025-12-31
        vor ein paar Tagen = 2026-02-14:2026-02-18
        vor einigen Wochen = 2026-01-09:2026-02-06
        in den letzten drei Wochen = 2026-01-30:2026-02-20
        am 3. Mai letzten Jahres = 2025-05-03
    """,
    "es": """
        ayer por la tarde = 2026-02-19
        esta mañana = 2026-02-20
        esta noche = 2026-02-20
        anoche = 2026-02-19
        antier = 2026-02-18
        el fin de semana pasado = 2026-02-14:2026-02-15
        la semana antepasada = 2026-02-02:2026-02-08
        el verano pasado = 2025-06-01:2025-08-31
        en el verano de 2025 = 2025-06-01:2025-08-31
        en Nochebuena del año pasado = 2025-12-24
        la Navidad pasada = 2025-12-24:2025-12-26
        en Nochevieja de 2024 = 2024-12-31
        en Semana Santa de 2025 = 2025-04-18:2025-04-21
        a principios de marzo de 2025 = 2025-03-01:2025-03-10
        a finales del año pasado = 2025-09-01:2025-12-31
        en la primera mitad del año pasado = 2025-01-01:2025-06-30
        hace unos días = 2026-02-14:2026-02-18
        hace varias semanas = 2026-01-09:2026-02-06
        en las últimas tres semanas = 2026-01-30:2026-02-20
        el otro día = 2026-02-14:2026-02-18
        el martes por la noche = 2026-02-17
        el miércoles pasado = 2026-02-18
    """,
    "fr": """
        hier soir = 2026-02-19
        ce matin = 2026-02-20
        cet après-midi = 2026-02-20
        ce soir = 2026-02-20
        hier après-midi = 2026-02-19
        la nuit dernière = 2026-02-19
        le week-end dernier = 2026-02-14:2026-02-15
        le weekend passé = 2026-02-14:2026-02-15
        l'été dernier = 2025-06-01:2025-08-31
        cet hiver = 2025-12-01:2026-02-20
        l'été 2025 = 2025-06-01:2025-08-31
        à l'automne 2025 = 2025-09-01:2025-11-30
        à Noël dernier = 2025-12-24:2025-12-26
        à Noël 2024 = 2024-12-24:2024-12-26
        le réveillon de Noël 2024 = 2024-12-24
        à Pâques en 2025 = 2025-04-18:2025-04-21
        le jour de l'an 2025 = 2025-01-01
        début mars 2025 = 2025-03-01:2025-03-10
        à la mi-août 2025 = 2025-08-11:2025-08-20
        à la fin de l'année dernière = 2025-09-01:2025-12-31
        dans la première moitié de 2025 = 2025-01-01:2025-06-30
        il y a quelques jours = 2026-02-14:2026-02-18
        l'autre jour = 2026-02-14:2026-02-18
        ces trois dernières semaines = 2026-01-30:2026-02-20
        les deux derniers mois = 2025-12-22:2026-02-20
        le 14 juillet de l'année dernière = 2025-07-14
        mardi dernier au soir = 2026-02-17
    """,
    "it": """
        ieri sera = 2026-02-19
        stamattina = 2026-02-20
        oggi pomeriggio = 2026-02-20
        stasera = 2026-02-20
        l'altro ieri = 2026-02-18
        lo scorso fine settimana = 2026-02-14:2026-02-15
        nel fine settimana scorso = 2026-02-14:2026-02-15
        l'estate scorsa = 2025-06-01:2025-08-31
        nell'autunno del 2025 = 2025-09-01:2025-11-30
        a Natale dell'anno scorso = 2025-12-24:2025-12-26
        alla vigilia di Natale del 2024 = 2024-12-24
        a Capodanno 2025 = 2025-01-01
        a Pasqua del 2025 = 2025-04-18:2025-04-21
        all'inizio di marzo 2025 = 2025-03-01:2025-03-10
        a metà agosto 2025 = 2025-08-11:2025-08-20
        a fine 2025 = 2025-09-01:2025-12-31
        alla fine dell'anno scorso = 2025-09-01:2025-12-31
        nella seconda metà dell'anno scorso = 2025-07-01:2025-12-31
        qualche giorno fa = 2026-02-14:2026-02-18
        alcune settimane fa = 2026-01-09:2026-02-06
        l'altro giorno = 2026-02-14:2026-02-18
        negli ultimi tre giorni = 2026-02-17:2026-02-20
        nelle ultime due settimane = 2026-02-06:2026-02-20
        martedì sera = 2026-02-17
        il mese scorso = 2026-01-01:2026-01-31
    """,
    "pt": """
        ontem à noite = 2026-02-19
        hoje de manhã = 2026-02-20
        esta tarde = 2026-02-20
        anteontem = 2026-02-18
        no fim de semana passado = 2026-02-14:2026-02-15
        no verão passado = 2025-06-01:2025-08-31
        no verão de 2025 = 2025-06-01:2025-08-31
        no Natal do ano passado = 2025-12-24:2025-12-26
        na véspera de Natal de 2025 = 2025-12-24
        na passagem de ano de 2024 = 2024-12-31
        na Páscoa de 2025 = 2025-04-18:2025-04-21
        no início de março de 2025 = 2025-03-01:2025-03-10
        em meados de agosto de 2025 = 2025-08-11:2025-08-20
        no final do ano passado = 2025-09-01:2025-12-31
        na primeira metade de 2025 = 2025-01-01:2025-06-30
        há alguns dias = 2026-02-14:2026-02-18
        umas semanas atrás = 2026-01-09:2026-02-06
        no outro dia = 2026-02-14:2026-02-18
        nos últimos dez dias = 2026-02-10:2026-02-20
        nas últimas duas semanas = 2026-02-06:2026-02-20
        na semana retrasada = 2026-02-02:2026-02-08
        no mês passado = 2026-01-01:2026-01-31
    """,
    "hr": """
        jučer navečer = 2026-02-19
        danas popodne = 2026-02-20
        jutros = 2026-02-20
        večeras = 2026-02-20
        sinoć = 2026-02-19
        prekjucer = 2026-02-18
        prošlog vikenda = 2026-02-14:2026-02-15
        pretprošli tjedan = 2026-02-02:2026-02-08
        prošle zime = 2024-12-01:2025-02-28
        prošlo ljeto = 2025-06-01:2025-08-31
        ljetos = 2025-06-01:2025-08-31
        u ljeto 2025. = 2025-06-01:2025-08-31
        za Božić prošle godine = 2025-12-24:2025-12-26
        na Badnjak 2025. = 2025-12-24
        na Staru godinu 2024. = 2024-12-31
        za Uskrs 2025. = 2025-04-18:2025-04-21
        početkom ožujka 2025. = 2025-03-01:2025-03-10
        krajem prošle godine = 2025-09-01:2025-12-31
        sredinom kolovoza prošle godine = 2025-08-11:2025-08-20
        u prvoj polovici 2025. = 2025-01-01:2025-06-30
        u ožujku prošle godine = 2025-03-01:2025-03-31
        prije nekoliko dana = 2026-02-14:2026-02-18
        neki dan = 2026-02-14:2026-02-18
        u zadnja tri tjedna = 2026-01-30:2026-02-20
        posljednjih deset dana = 2026-02-10:2026-02-20
        prošli utorak = 2026-02-17
        21. 8. 2025. = 2025-08-21
        21.8.2025. = 2025-08-21
        prosle subote = 2026-02-14
    """,
    "ru": """
        вчера вечером = 2026-02-19
        сегодня утром = 2026-02-20
        позавчера вечером = 2026-02-18
        в прошлые выходные = 2026-02-14:2026-02-15
        на прошлых выходных = 2026-02-14:2026-02-15
        на позапрошлой неделе = 2026-02-02:2026-02-08
        прошлой осенью = 2025-09-01:2025-11-30
        этой зимой = 2025-12-01:2026-02-20
        летом 2025 года = 2025-06-01:2025-08-31
        летом прошлого года = 2025-06-01:2025-08-31
        на Рождество в прошлом году = 2025-12-24:2025-12-26
        на Пасху 2025 года = 2025-04-18:2025-04-21
        в новогоднюю ночь 2024 года = 2024-12-31
        в начале марта 2025 года = 2025-03-01:2025-03-10
        в конце прошлого года = 2025-09-01:2025-12-31
        в середине августа прошлого года = 2025-08-11:2025-08-20
        в первой половине 2025 года = 2025-01-01:2025-06-30
        в марте прошлого года = 2025-03-01:2025-03-31
        несколько дней назад = 2026-02-14:2026-02-18
        пару недель назад = 2026-01-09:2026-02-06
        на днях = 2026-02-14:2026-02-18
        за последние три недели = 2026-01-30:2026-02-20
        в прошлую субботу = 2026-02-14
        в прошлом марте = 2025-03-01:2025-03-31
    """,
    "ar": """
        مساء أمس = 2026-02-19
        صباح اليوم = 2026-02-20
        هذا المساء = 2026-02-20
        الليلة الماضية = 2026-02-19
        أول من أمس = 2026-02-18
        في عطلة نهاية الأسبوع الماضية = 2026-02-14:2026-02-15
        الصيف الماضي = 2025-06-01:2025-08-31
        في صيف 2025 = 2025-06-01:2025-08-31
        في صيف العام الماضي = 2025-06-01:2025-08-31
        في عيد الميلاد العام الماضي = 2025-12-24:2025-12-26
        ليلة رأس السنة 2024 = 2024-12-31
        في عيد الفصح 2025 = 2025-04-18:2025-04-21
        في بداية مارس 2025 = 2025-03-01:2025-03-10
        في نهاية العام الماضي = 2025-09-01:2025-12-31
        في منتصف أغسطس من العام الماضي = 2025-08-11:2025-08-20
        في النصف الأول من 2025 = 2025-01-01:2025-06-30
        قبل بضعة أيام = 2026-02-14:2026-02-18
        منذ عدة أسابيع = 2026-01-09:2026-02-06
        في الأسابيع الثلاثة الماضية = 2026-01-30:2026-02-20
        في الأيام العشرة الأخيرة = 2026-02-10:2026-02-20
        يوم السبت الماضي = 2026-02-14
        الاسبوع الماضي = 2026-02-09:2026-02-15
        في مارس الماضي = 2025-03-01:2025-03-31
    """,
    "hi": """
        कल शाम = 2026-02-19
        आज दोपहर = 2026-02-20
        आज शाम = 2026-02-20
        कल रात = 2026-02-19
        पिछले सप्ताहांत = 2026-02-14:2026-02-15
        पिछले वीकेंड पर = 2026-02-14:2026-02-15
        पिछली गर्मियों में = 2025-06-01:2025-08-31
        2025 की गर्मियों में = 2025-06-01:2025-08-31
        पिछले साल क्रिसमस पर = 2025-12-24:2025-12-26
        2024 में न्यू ईयर ईव पर = 2024-12-31
        मार्च 2025 की शुरुआत में = 2025-03-01:2025-03-10
        पिछले साल के अंत में = 2025-09-01:2025-12-31
        पिछले साल मार्च में = 2025-03-01:2025-03-31
        पिछले साल के मार्च में = 2025-03-01:2025-03-31
        कुछ दिन पहले = 2026-02-14:2026-02-18
        कुछ हफ़्ते पहले = 2026-01-09:2026-02-06
        पिछले तीन हफ़्तों में = 2026-01-30:2026-02-20
        पिछले दस दिनों में = 2026-02-10:2026-02-20
        पिछले शनिवार को = 2026-02-14
        पिछले हफ्ते = 2026-02-09:2026-02-15
    """,
    "tr": """
        dün akşam = 2026-02-19
        bu sabah = 2026-02-20
        bu akşam = 2026-02-20
        evvelsi gün = 2026-02-18
        geçen hafta sonu = 2026-02-14:2026-02-15
        geçen yaz = 2025-06-01:2025-08-31
        2025 yazında = 2025-06-01:2025-08-31
        geçen yılın yazında = 2025-06-01:2025-08-31
        geçen yıl Noel'de = 2025-12-24:2025-12-26
        2024 yılbaşı gecesinde = 2024-12-31
        mart 2025 başında = 2025-03-01:2025-03-10
        geçen yılın sonunda = 2025-09-01:2025-12-31
        geçen yıl mart ayında = 2025-03-01:2025-03-31
        geçen yılın mart ayında = 2025-03-01:2025-03-31
        2025'in ilk yarısında = 2025-01-01:2025-06-30
        birkaç gün önce = 2026-02-14:2026-02-18
        birkaç hafta önce = 2026-01-09:2026-02-06
        geçen gün = 2026-02-14:2026-02-18
        son üç haftada = 2026-01-30:2026-02-20
        son on günde = 2026-02-10:2026-02-20
        geçen cumartesi = 2026-02-14
        18.09.2025 = 2025-09-18
        18.09.2025 tarihinde = 2025-09-18
    """,
    "ko": """
        어젯밤에 = 2026-02-19
        어제 저녁에 = 2026-02-19
        오늘 오후에 = 2026-02-20
        그저께 = 2026-02-18
        지난 주말에 = 2026-02-14:2026-02-15
        지난주말 = 2026-02-14:2026-02-15
        지지난주에 = 2026-02-02:2026-02-08
        작년 여름에 = 2025-06-01:2025-08-31
        2025년 여름에 = 2025-06-01:2025-08-31
        이번 겨울에 = 2025-12-01:2026-02-20
        2024년 크리스마스이브에 = 2024-12-24
        2025년 부활절에 = 2025-04-18:2025-04-21
        2025년 3월 초에 = 2025-03-01:2025-03-10
        작년 말에 = 2025-09-01:2025-12-31
        작년 8월 중순에 = 2025-08-11:2025-08-20
        2025년 상반기에 = 2025-01-01:2025-06-30
        며칠 전에 = 2026-02-14:2026-02-18
        몇 주 전에 = 2026-01-09:2026-02-06
        지난 3주 동안 = 2026-01-30:2026-02-20
        지난 열흘 동안 = 2026-02-10:2026-02-20
        지난 토요일에 = 2026-02-14
        2025. 9. 16.에 = 2025-09-16
        2025년 9월 16일에 = 2025-09-16
        지난 3월에 = 2025-03-01:2025-03-31
    """,
    "zh": """
        昨天晚上 = 2026-02-19
        昨晚 = 2026-02-19
        今天下午 = 2026-02-20
        前天晚上 = 2026-02-18
        上周末 = 2026-02-14:2026-02-15
        上个周末 = 2026-02-14:2026-02-15
        上上周 = 2026-02-02:2026-02-08
        去年秋天 = 2025-09-01:2025-11-30
        2025年夏天 = 2025-06-01:2025-08-31
        去年圣诞节 = 2025-12-25
        2024年平安夜 = 2024-12-24
        2025年复活节 = 2025-04-18:2025-04-21
        2025年3月初 = 2025-03-01:2025-03-10
        去年年底 = 2025-09-01:2025-12-31
        去年八月中旬 = 2025-08-11:2025-08-20
        去年上半年 = 2025-01-01:2025-06-30
        几天前 = 2026-02-14:2026-02-18
        前几天 = 2026-02-14:2026-02-18
        几个星期前 = 2026-01-09:2026-02-06
        最近三个星期 = 2026-01-30:2026-02-20
        过去十天 = 2026-02-10:2026-02-20
        上周六 = 2026-02-14
        2025/09/16 = 2025-09-16
        上个月 = 2026-01-01:2026-01-31
    """,
    "ja": """
        昨日の夜 = 2026-02-19
        昨夜 = 2026-02-19
        今日の午後 = 2026-02-20
        今朝 = 2026-02-20
        一昨日の夜 = 2026-02-18
        先週末 = 2026-02-14:2026-02-15
        先週の週末 = 2026-02-14:2026-02-15
        先々週 = 2026-02-02:2026-02-08
        去年の夏 = 2025-06-01:2025-08-31
        2025年の夏 = 2025-06-01:2025-08-31
        去年のクリスマス = 2025-12-24:2025-12-26
        2025年の元日 = 2025-01-01
        去年の3月 = 2025-03-01:2025-03-31
        2025年3月上旬 = 2025-03-01:2025-03-10
        去年の年末 = 2025-09-01:2025-12-31
        去年8月の半ば = 2025-08-11:2025-08-20
        2025年の前半 = 2025-01-01:2025-06-30
        数日前 = 2026-02-14:2026-02-18
        何週間か前 = 2026-01-09:2026-02-06
        先日 = 2026-02-14:2026-02-18
        この三週間 = 2026-01-30:2026-02-20
        過去10日間 = 2026-02-10:2026-02-20
        先週の土曜日 = 2026-02-14
        2025/09/16 = 2025-09-16
    """,
}
"""A phrase, and its only day or its first and last."""
NO_TIMES = [
    "Was hat Herr Sommer gesagt?",
    "Was hat Frau Winter über den Herbst geschrieben?",
    "Ist der Winter meine liebste Jahreszeit?",
    "Wann hat Silvester Geburtstag?",
    "¿Qué dijo Pascual de la primavera?",
    "¿Qué dije de mi última charla?",
    "¿Me gusta el verano?",
    "Qu'est-ce que Noël a dit de moi ?",
    "Où as-tu été avec Printemps ?",
    "Est-ce que j'aime l'été ?",
    "Che cosa ha detto Natale Rossi?",
    "Mi piace l'estate?",
    "Chi è Primavera?",
    "O que disse a Natália?",
    "Gosto do verão?",
    "Quem mora em Natal?",
    "Što je rekao gospodin Božić?",
    "Volim li ljeto?",
    "Što je rekla Zima?",
    "Сколько лет моей маме?",
    "Люблю ли я осень?",
    "Что сказала Майя?",
    "ماذا قال ربيع عن السفر؟",
    "هل أحب الصيف؟",
    "रवि ने क्या कहा?",
    "मुझे गर्मी पसंद है?",
    "Bahar bana ne dedi?",
    "Kışı sever miyim?",
    "Yaz tatilini sever miyim?",
    "봄이가 뭐라고 했지?",
    "나는 겨울을 좋아해?",
    "여름이 좋아?",
    "我喜欢夏天吗？",
    "春天是谁？",
    "我每周末做什么？",
    "夏は好き？",
    "春子は何て言った？",
    "毎週末は何をする？",
]


def days(question: str) -> str:
    """Return the days that a question names, as the table above writes them."""
    times = find_intervals(question, [2024, 2025, 2026], TODAY)[1]
    ranges = [each for time in times for each in time.ranges if each[0] <= TODAY]
    return " ".join(f"{first}" if first == last else f"{first}:{last}" for first, last in ranges)


@pytest.mark.parametrize("language", PHRASES)
def test_a_phrase_names_its_days(language: Language) -> None:
    lines = [line.strip().split(" = ") for line in PHRASES[language].strip().splitlines()]
    read = {phrase: days(QUESTIONS[language].format(phrase)) for phrase, _ in lines}
    assert read == dict(lines)


@pytest.mark.parametrize("question", NO_TIMES)
def test_a_name_or_a_thing_is_no_time(question: str) -> None:
    assert days(question) == ""
