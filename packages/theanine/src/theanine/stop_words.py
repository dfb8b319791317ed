"""Words that carry no subject, by language."""

from __future__ import annotations

from collections.abc import Mapping

STOP_WORDS: Mapping[str, frozenset[str]] = {
    "en": frozenset(
        "a about all also am an and any are as at be because been but by can could did do does for "
        "from had has have he her his how i if in into is it its just me my no not of on or our "
        "she so some than that the their them then there these they this to up us was we were what "
        "when where which who why will with would you your".split()
    ),
    "de": frozenset(
        "ab aber alle alles als also am an ander andere auch auf aus bei beim bin bis bist da "
        "damit dann das dass dein deine deinem deinen deiner dem den denn der des dich die dies "
        "diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer "
        "eines er es etwas euch euer eure für gar gerade gern gerne gewesen habe haben hast hat "
        "hatte hatten hier ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede "
        "jeden jeder jedes jetzt kann kannst kein keine keinen mal man mein meine meinem meinen "
        "meiner meines mich mir mit muss nach nicht noch nun nur ob oder ohne schon sehr sein "
        "seine seinem seinen seiner seit sich sie sind so soll sollen um und uns unser unsere "
        "unserem unseren unserer unter vom von vor wann war waren warum was weil welche welchem "
        "welchen welcher welches wem wen wenn wer werde werden wessen wie wieder will wir wird "
        "wo wofür wogegen wohin woran worauf wurde wurden zu zum zur zwar über".split()
    ),
    "es": frozenset(
        "a al algo algun alguna antes aquel aquella aqui asi aun aunque cada como con cual cuales "
        "cuando cuanta cuantas cuanto cuantos de del desde donde adonde e el ella ellas ellos en "
        "entre era es esa ese eso esta está están estaba estan estar estas este esto estos estoy "
        "fue ha habia hace han has hasta hay he la las le les lo los mas me mi mis mucho muy nada "
        "ni no nos nosotros nuestra nuestro nuestros o os otra otro para pero poco por porque que "
        "quien quienes se sea ser si sido sin sobre solo son soy su sus tambien tan te tengo "
        "tenia tiene tienes todo todos tu tus un una uno unos va vez y ya yo".split()
    ),
    "zh": frozenset(),
    "ja": frozenset(),
    "fr": frozenset(
        "a à ai aller alors as au aucun aussi autre aux avaient avais avait avant avec avez avoir "
        "avons c ça ce cela celle celui ces cet cette ceux chez comme comment d dans de depuis "
        "des donc dont du elle elles en encore entre es est et étaient étais était été être eu "
        "fait fais font il ils j je jusqu l la là le les leur leurs lui m ma mais me même mes moi "
        "mon n ne ni nos notre nous on ont ou où par pas pendant peu peut plus pour pourquoi qu "
        "quand que quel quelle quelles quels qui quoi s sa sans se sera ses si son sont sous suis "
        "sur t ta te tes toi ton tous tout toute très tu un une va vais vers veux voici voilà vos "
        "votre vous y".split()
    ),
    "it": frozenset(
        "a abbiamo agli ai al alla alle allo anche ancora avere aveva avevo avete c che chi ci "
        "ciò col come con cosa così cui d da dagli dai dal dalla dalle dei del della delle dello "
        "dentro di dopo dove due e è ed era erano eri ero essere fa fino fra gli ha hai hanno ho "
        "i il in io l la le lei li lo loro ma me mi mia mie miei mio molto ne negli nei nel nella "
        "nelle nello no noi non nostra nostro o ogni per perché però più poi prima qual quale "
        "quali quando quanta quanto quei quel quella quelle quello questa queste questi questo "
        "qui sarà se sei senza si sia siamo siete sono sopra sta stato stava sto su sua sue sugli "
        "sui sul sulla suo suoi ti tra tu tua tue tuo tuoi tutti tutto un una uno va vi voi".split()
    ),
    "pt": frozenset(
        "a à ainda além ao aos aquela aquele aquilo as às até boa com como da daquele das de dela "
        "dele deles depois desde dessa desse desta deste do dos e é ela elas ele eles em entre "
        "era eram essa esse esta está estão estar estas estava este estes estou eu foi foram há "
        "isso isto já lá lhe mais mas me mesmo meu meus minha minhas muito na nas não nem no nos "
        "nós nossa nosso num numa o onde os ou para pela pelas pelo pelos por porque qual quais "
        "quando quanto quantos que quem são se sem ser será seu seus só sob sobre sua suas também "
        "te tem têm tenho ter teu teve tinha toda todo todos tu tua tudo um uma vai você vocês "
        "vou".split()
    ),
    "hr": frozenset(
        "a ako ali bez bi bih bila bili bilo bio biti čega čemu čiji čime da dok do ga gdje i ih "
        "ili im ima imam imaš imati iz ja je jer još joj ju kad kada kako kao kamo koga koja koje "
        "koji kojoj koju koliko kojem kroz li me mene meni mi moj moja moje mom mu na nad nakon "
        "nam nama nas naš naša ne neće nego nešto neka neki neko ni nije nisam nisi nisu no o od "
        "on ona oni ono oko osim ova ovaj ovo pa po pod prema pri prije s sa sad sam se sebe si "
        "smo ste su sve svoj svoja svoje ta taj tamo te tebe ti to toga toj tko tu tvoj tvoja u "
        "uz vam vas već vi vrlo za zašto zbog što".split()
    ),
    "ru": frozenset(
        "а без бы был была были было быть в вам вас весь во вот все всё всего вы где да для до "
        "его ее её если есть еще ещё же за здесь и из или им их к как какая какие какой когда "
        "кого кто куда ли лишь мне мной меня мой моя мое моё мои моей моего мы на над нам нас наш "
        "не него нее нет ни них но ну о об один он она они от очень по под при про с сам свой "
        "своя себя сколько со так такой там то тоже только том ты тебе тебя твой твоя у уже чего "
        "чей чем через что чтобы эта эти это этот этого я".split()
    ),
    "ar": frozenset(
        "أ أن إن إلى إذا أنا أنت أي أين أو الذي التي الآن بعد بعض بل بين به بها تلك ثم حتى حول "
        "حين حيث خلال ذلك على عن عند عندما غير في قبل قد كان كانت كل كم كما كنت كيف لا لدي لقد "
        "لك لكن لم لماذا لن لنا له لها ليس لي ما ماذا متى مع من منذ منه نحن نعم هذا هذه هل هم "
        "هنا هناك هو هي و وكان ولا وهو يا يكون".split()
    ),
    "hi": frozenset(
        "अपना अपनी अपने अब आप आपका आपकी आपके आपको आपने इस इसका इसके इसी उन उनका उनके उस उसका "
        "उसकी उसके ऐसे और क्या क्यों कि किस किसका किसी की के को कोई कौन कब कहाँ कहां कैसे "
        "कितना कितने कितनी का कुछ गया गई गए जब जहाँ जा जैसे जो तक तब तुम तुमने तुम्हें तो था "
        "थी थे दिया दो न नहीं ने पर फिर बहुत भी मगर मुझे मेरा मेरी मेरे मैं मैंने में यदि यह "
        "यहाँ या ये रहा रही रहे लिए लेकिन वह वहाँ वाला वाली वाले वे से सकता साथ हम हमारा हमारे "
        "हमें हमने ही हुआ हुई हुए हूँ हूं है हैं हो होता होती".split()
    ),
    "tr": frozenset(
        "acaba ama ancak az bana bazı belki ben benden beni benim bir biri biz bize bizim bu buna "
        "bunda bunu bunun çok çünkü da daha de defa değil diye en gibi hangi hem hep hepsi her "
        "hiç için ile ise işte kaç ki kim kime kimin kimse mı mi mu mü nasıl ne neden nerede "
        "nereye niçin niye o olan olarak oldu olduğu olur ona onlar onu onun sana sanki sen senin "
        "siz sizin şey şu şunu tüm var vardı ve veya ya yani yok zaman".split()
    ),
    "ko": frozenset(
        "가 그 그것 그게 그래서 그런데 그리고 나 나는 나의 난 날 내 내가 너 너는 네 누가 누구 "
        "는 다 당신 더 도 된 들 등 때 또 를 만 무슨 무엇 뭐 및 수 안 어느 어디 어떤 어떻게 "
        "언제 얼마나 에 에서 와 왜 요 우리 으로 은 을 의 이 이것 이게 이런 인 저 저는 제 제가 "
        "좀 지금 하고 하는 한 할 해 했".split()
    ),
}
