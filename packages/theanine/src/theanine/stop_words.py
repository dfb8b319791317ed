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
        "entre era es esa ese eso esta estaba estan estar estas este esto estos estoy fue ha habia "
        "hace han has hasta hay he la las le les lo los mas me mi mis mucho muy nada ni no nos "
        "nosotros nuestra nuestro nuestros o os otra otro para pero poco por porque que quien "
        "quienes se sea ser si sido sin sobre solo son soy su sus tambien tan te tengo tenia tiene "
        "tienes todo todos tu tus un una uno unos va vez y ya yo".split()
    ),
    "zh": frozenset(),
    "ja": frozenset(),
}
