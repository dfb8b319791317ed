"""Cues in German, Spanish, Chinese and Japanese, named as the English ones of other modules.

Small talk is told in all five languages at once, since it is too short to guess its language.
"""

from __future__ import annotations

import re

from theanine.retrieval.languages import Language

_TEXT_CUES: dict[Language, dict[str, str]] = {
    "de": {
        "time": r"\b(?:gestern|vorgestern|heute|morgen|letzte[nrs]?|nächste[nrs]?|vorige[nrs]?|vor|"
        r"seit|ab|wochen?|monate?n?|jahre?n?|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|"
        r"januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember|"
        r"wochenende|neulich|kürzlich|bald|jetzt|gerade)\b",
        "number": r"\d|\b(?:zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|paar|dutzend|"
        r"viele|mehrere)\b",
        "greeting": r"^\W*(?:hallo|hi|hey|danke|tschüss|wow|super|toll|prima|schön|glückwunsch|"
        r"herzlichen|guten)\b",
        "first person": r"\b(?:ich|mich|mir|mein(?:e[mnrs]?)?|wir|uns|unser(?:e[mnrs]?)?)\b",
    },
    "es": {
        "time": r"\b(?:ayer|anteayer|hoy|mañana|anoche|pasad[oa]|próxim[oa]|hace|desde|semanas?|"
        r"mes(?:es)?|años?|lunes|martes|miércoles|jueves|viernes|sábados?|domingos?|enero|febrero|"
        r"marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|pronto|ahora|"
        r"recientemente|acab[oa])\b",
        "number": r"\d|\b(?:dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|varios|"
        r"docena|muchos)\b",
        "greeting": r"^\W*(?:hola|gracias|adiós|vaya|genial|qué bien|buenos|buenas|enhorabuena|"
        r"felicidades)\b",
        "first person": r"\b(?:yo|me|mí|mis?|nos|nosotr[oa]s|nuestr[oa]s?|soy|estoy|tengo|he|voy|"
        r"quiero|puedo|hago|somos|tenemos|hemos|vamos)\b",
    },
    "zh": {
        "time": r"昨[天晚]|前天|今[天早晚年]|明[天年]|去年|上个?[周月]|下个?[周月]|[以之]前|"
        r"[周星]期?[一二三四五六日天末]|[月号日年]|最近|刚|现在|从",
        "number": r"\d|[一二三四五六七八九十百千万两几][个只次天年月块条本位名公]|许多",
        "greeting": r"^\W*(?:你好|您好|嗨|谢谢|再见|哇|太好了|太棒了|真棒|恭喜|早上好|晚上好)",
        "first person": r"我|咱",
    },
    "ja": {
        "time": r"昨[日夜晩年]|一昨日|今[日朝夜年週月]|明日|去年|来[週月年]|先[週月日]|前|"
        r"[月火水木金土日]曜|[月年]|から|最近|さっき|週末",
        "number": r"\d|[一二三四五六七八九十百千万数][人つ個回日年月本匹杯枚円歳]|たくさん",
        "greeting": r"^\W*(?:こんにちは|こんばんは|おはよう|ありがとう|さようなら|"
        r"わあ|すごい|すてき|素敵|おめでとう)",
        "first person": r"私|わたし|僕|俺|うち|自分",
    },
}
_QUESTION_CUES: dict[Language, dict[str, str]] = {
    "de": {
        "when": r"\bwann\b|\b(?:welche[mnrs]?|was für ein\w*) (?:tag|datum|jahr|monat|abend)|"
        r"\bwie lange\b|\bseit wann\b|\bbis wann\b",
        "who": r"\bwe(?:r|n|m|ssen)\b",
        "where": r"\bwo(?:hin|her)?\b|\bwelche[mnrs]? (?:land|stadt|ort)\b",
        "how many": r"\bwie (?:viele?|oft|hoch)\b",
        "why": r"\bwarum\b|\bwieso\b|\bweshalb\b|\bgrund\b",
        "how": r"\bwie\b",
        "what": r"\bwas\b|\bwelche[mnrs]?\b|\bwo(?:r?für|mit|ran|gegen|rauf|von|rüber)\b",
        "would": r"\b(?:würden?|würdest|könnten?|könntest|vielleicht|wahrscheinlich)\b",
        "yes or no": r"^(?:ist|sind|war|waren|hat|habe|haben|kann|können|wird|bin|mag)\b",
        "all": r"\breihenfolge\b|\bliste\b|\balle\b",
        "present": r"\b(?:jetzt|zurzeit|derzeit|momentan|aktuell\w*|gegenwärtig\w*|neueste[nrs]?|"
        r"zuletzt|letzte[nrs]?|heute|heutzutage|inzwischen|mittlerweile|noch|nicht mehr)\b",
        "past": r"\b(?:früher\w*|ursprünglich\w*|zuerst|anfangs|erste[nrs]?|vorher\w*|ehemalig\w*|"
        r"einst|damals)\b",
    },
    "es": {
        "when": r"\bcuándo\b|\bqué (?:día|fecha|año|mes|hora|noche)\b|\bcuánto tiempo\b",
        "who": r"\bqui[ée]n(?:es)?\b",
        "where": r"\b(?:a|de)?dónde\b|\bqué (?:país|ciudad|lugar|sitio)\b",
        "how many": r"\bcuánt[oa]s?\b|\bcada cuánto\b|\bfrecuencia\b",
        "why": r"\bpor qué\b|\bmotivo\b|\brazón\b",
        "how": r"\bcómo\b",
        "what": r"\bqué\b|\bcuál(?:es)?\b",
        "would": r"\b(?:podría|quizás?|probablemente|gustaría)\b",
        "yes or no": r"^¿?(?:es|son|era|fue|ha|he|han|está|están|puede|puedo|tengo|tiene)\b",
        "all": r"\borden\b|\blista\b|\btod[oa]s\b",
        "present": r"\b(?:ahora|actual(?:es|mente)?|últim[oa]s?|hoy|todavía|aún|ya no|"
        r"recientemente|más recientes?|de momento)\b",
        "past": r"\b(?:antes|original(?:mente)?|primer[oa]?s?|al principio|inicialmente|"
        r"anterior(?:es|mente)?|solía\w*)\b",
    },
    "zh": {
        "when": r"什么时候|何时|哪[天年月日]|几[月号点]|多久|多长时间",
        "who": r"谁|哪位",
        "where": r"哪里|哪儿|在哪|什么地方|哪个(?:国家|城市|地方)",
        "how many": r"多少|几[个次只位]|多久",
        "why": r"为什么|为何|原因|怎么会",
        "how": r"怎么|怎样|如何",
        "what": r"什么|哪[个一种部些]",
        "would": r"可能|也许|大概|会不会",
        "yes or no": r"[吗么]\s*[?？]?$|是不是|有没有",
        "all": r"顺序|所有|全部|列出|哪些",
        "present": r"现在|目前|当前|最新|最近|如今|还在|仍然|不再|最后",
        "past": r"以前|之前|原来|起初|最初|最早|第一次|曾经|过去",
    },
    "ja": {
        "when": r"いつ|何[日月年時曜]|どのくらい|どれくらい",
        "who": r"誰|だれ|どなた",
        "where": r"どこ|どちら|何処",
        "how many": r"いくつ|いくら|何[回人個匹度本]|頻度|間隔",
        "why": r"なぜ|どうして|理由|なんで",
        "how": r"どう|どのように|どんなふう",
        "what": r"何|なに|どんな|どの|どれ",
        "would": r"かもしれ|でしょう|たぶん",
        "yes or no": r"ますか|ですか|でしたか|ましたか",
        "all": r"順番|すべて|全部|一覧",
        "present": r"今[はも]|現在|最新|最近|まだ|もう[^い]*ない|いまは|最後",
        "past": r"以前|前は|最初|元々|もともと|当初|昔|初めて|かつて",
    },
}
_ASKER: dict[Language, str] = {
    **{language: cues["first person"] for language, cues in _TEXT_CUES.items()},
    # Verbs of the first person stand without a pronoun.
    "es": _TEXT_CUES["es"]["first person"]
    + r"|\b(?:conozco|debo|sé|vivo|trabajo|como|bebo|tomo|llevo|pienso|dije|hice|fui|pagué|estuve|"
    r"tuve|conocí|compré|dejé|\w+[éí])\b",
}
_STANDING: dict[Language, str] = {
    "de": r"\bbitte (?:immer|nie(?:mals)?)\b|\bbitte\b[^.?!]*\b(?:immer|nie(?:mals)?)\b|"
    r"\bvon jetzt an\b|\bab jetzt\b|\b(?:immer|jedes mal),? wenn ich\b|\bich (?:bevorzuge|ziehe)\b|"
    r"\bmir (?:ist|wäre) es lieber\b",
    "es": r"\bpor favor\b[^.?!]*\b(?:siempre|nunca)\b|\b(?:siempre|nunca)\b[^.?!]*\bpor favor\b|"
    r"\ba partir de ahora\b|\b(?:siempre|cada vez) que (?:te )?\w+\b|\bprefiero\b",
    "zh": r"以后请|请[你您]?(?:总是|一直|不要|别|每次)|(?:千万|永远)(?:别|不要)|"
    r"从现在[起开]|每次我|我(?:更喜欢|宁愿|宁可)",
    "ja": r"これからは|今後は|(?:いつも|必ず|絶対に?|毎回)[^。？！]*"
    r"(?:して|ないで|ください|ね)|ほうがいい",
}
_OF_ASSISTANT: dict[Language, str] = {
    "de": r"\b(?:hast|hattest) du (?:mir|uns)\b|\bdu (?:mir|uns)\b[^.?!]*\b(?:hast|hattest)\b",
    "es": r"\b(?:me|nos) (?:recomendaste|dijiste|sugeriste|aconsejaste|contaste|propusiste|has)\b",
    "zh": r"^[^我]*[你您][^我]*我?[^我]*(?:推荐|告诉|建议|分享|说过|提到|回答)",
    "ja": r"(?:すすめて|教えて|言って|提案して|紹介して|話して)くれ",
}
SMALL_TALK = re.compile(
    r"\b(?:how are you(?: doing)?(?: today)?|how['’]?s it going|how is it going|what['’]?s up|"
    r"good (?:morning|afternoon|evening|night|day|idea|point|one)|see you(?: later| soon)?|"
    r"you['’]?re welcome|thank you(?: (?:so|very) much)?|(?:many )?thanks(?: a lot)?|got it|i see|"
    r"(?:that |it )?sounds (?:good|great)|go (?:on|ahead)|let['’]?s (?:do (?:it|that|this)|go)|"
    r"no problem|never ?mind|of course|take care|hello|hi|hey|thx|ok|okay|yes|yeah|yep|yup|no|nope|"
    r"sure|please|great|cool|nice|good|fine|perfect|awesome|amazing|lovely|wow|ha(?:ha)+|lol|hm+|"
    r"mm+|mhm|ah+|oh+|aha|right|alright|exactly|indeed|bye|goodbye|sorry|cheers|congrats|"
    r"wie geht(?: e?['’]?s)?(?: dir| ihnen)?|guten (?:morgen|tag|abend)|gute nacht|hallo|"
    r"danke(?: schön| dir| sehr)?|vielen dank|bitte|ja|nein|nee|gut|prima|genau|klar|tschüss|"
    r"in ordnung|alles klar|mach weiter|verstehe|schön|"
    r"(?:qué|que) tal|c[oó]mo est[aá]s|buen[oa]s (?:d[ií]as|tardes|noches)|hola|"
    r"(?:muchas )?gracias|de nada|por favor|s[ií]|vale|bien|claro|genial|perfecto|adi[oó]s|"
    r"hasta luego|de acuerdo|entiendo)\b"
    r"|你好吗?|您好|谢谢[你您]?|不客气|好的?|是的?|嗯+|再见|早上好|晚上好|晚安|没关系|当然|明白了?"
    r"|こんにちは|こんばんは|おはよう(?:ございます)?|ありがとう(?:ございます)?|はい|いいえ|うん|"
    r"そうですね?|なるほど|わかりました|了解(?:です)?|さようなら|おやすみ(?:なさい)?",
    re.IGNORECASE,
)
"""Greetings, thanks, and answers that say no more than yes or no."""
NEGATION = r"nicht|kein(?:e[mnrs]?)?|nie(?:mals)?|nichts|ohne|nunca|nada|nadie|sin|tampoco|jamás"
UNSPACED_NEGATION = r"[不没別别未]|ない|なく|ません|ぬ"


def _compile(cues: dict[str, str]) -> dict[str, re.Pattern[str]]:
    return {name: re.compile(cue, re.IGNORECASE) for name, cue in cues.items()}


TEXT_CUES = {language: _compile(cues) for language, cues in _TEXT_CUES.items()}
QUESTION_CUES = {language: _compile(cues) for language, cues in _QUESTION_CUES.items()}
ASKER = {language: re.compile(cue, re.IGNORECASE) for language, cue in _ASKER.items()}
STANDING = {language: re.compile(cue, re.IGNORECASE) for language, cue in _STANDING.items()}
OF_ASSISTANT = {language: re.compile(cue, re.IGNORECASE) for language, cue in _OF_ASSISTANT.items()}
"""Questions about what the assistant told the asker."""
