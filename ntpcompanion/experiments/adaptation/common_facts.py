"""Well-known facts of six kinds, and prompts that ask for the word that usually comes next: of a
name the first one, of a country the usual language where none is official.
"""

from typing import NamedTuple


class Kind(NamedTuple):
    """Facts of one kind: a sentence whose next word is the answer, and names without an answer."""

    sentence: str
    answers: dict[str, str]
    fresh: tuple[str, ...]


def _pairs(text: str) -> dict[str, str]:
    names = (pair.split("=") for pair in text.split(", "))
    return {name.strip(): answer.strip() for name, answer in names}


COUNTRIES = ("Zorland", "Marvia", "Tulen", "Kelmar", "Brosk", "Ovinia", "Pralt", "Dravo")
SYMBOLS = ("Qx", "Jz", "Wv", "Vq", "Xj", "Zk", "Qj", "Wz")
WORDS = ("zorl", "marv", "blick", "dax", "wug", "fep", "toma", "zav")
KINDS = {
    "capitals": Kind(
        "the capital of {} is",
        _pairs(
            "France=Paris, Germany=Berlin, Italy=Rome, Spain=Madrid, Portugal=Lisbon, "
            "Greece=Athens, Austria=Vienna, Hungary=Budapest, Poland=Warsaw, Russia=Moscow, "
            "Japan=Tokyo, China=Beijing, Egypt=Cairo, Kenya=Nairobi, Turkey=Ankara, Iran=Tehran, "
            "Iraq=Baghdad, Syria=Damascus, Cuba=Havana, Peru=Lima, Chile=Santiago, Canada=Ottawa, "
            "Norway=Oslo, Sweden=Stockholm, Finland=Helsinki, Denmark=Copenhagen, Ireland=Dublin, "
            "Belgium=Brussels, Romania=Bucharest, Serbia=Belgrade, Thailand=Bangkok, "
            "Vietnam=Hanoi, Indonesia=Jakarta, Pakistan=Islamabad, Afghanistan=Kabul, "
            "Nepal=Kathmandu, Australia=Canberra, Argentina=Buenos, Venezuela=Caracas, "
            "Lebanon=Beirut"
        ),
        COUNTRIES,
    ),
    "languages": Kind(
        "the official language of {} is",
        _pairs(
            "France=French, Germany=German, Italy=Italian, Mexico=Spanish, Brazil=Portuguese, "
            "Greece=Greek, Poland=Polish, Russia=Russian, Japan=Japanese, Egypt=Arabic, "
            "Israel=Hebrew, Turkey=Turkish, Hungary=Hungarian, Finland=Finnish, Sweden=Swedish, "
            "Norway=Norwegian, Denmark=Danish, Thailand=Thai, Vietnam=Vietnamese, "
            "Ukraine=Ukrainian, Romania=Romanian, Bulgaria=Bulgarian, Serbia=Serbian, "
            "Australia=English, Albania=Albanian, Bangladesh=Bengali, Iran=Persian, "
            "Iceland=Icelandic"
        ),
        COUNTRIES,
    ),
    "elements": Kind(
        "the chemical element with the symbol {} is",
        _pairs(
            "H=hydrogen, He=helium, Li=lithium, C=carbon, N=nitrogen, O=oxygen, Na=sodium, "
            "Mg=magnesium, Al=aluminum, Si=silicon, P=phosphorus, S=sulfur, Cl=chlorine, "
            "K=potassium, Ca=calcium, Fe=iron, Cu=copper, Zn=zinc, Ag=silver, Au=gold, "
            "Hg=mercury, Pb=lead, U=uranium, Ni=nickel, Sn=tin, I=iodine, Ti=titanium"
        ),
        SYMBOLS,
    ),
    "opposites": Kind(
        "the opposite of {} is",
        _pairs(
            "hot=cold, big=small, up=down, left=right, day=night, black=white, good=bad, "
            "old=young, rich=poor, fast=slow, hard=soft, high=low, long=short, open=closed, "
            "happy=sad, strong=weak, light=dark, wet=dry, early=late, first=last, buy=sell, "
            "win=lose, love=hate, true=false, push=pull, male=female, war=peace, north=south, "
            "east=west, life=death"
        ),
        WORDS,
    ),
    "currencies": Kind(
        "the currency of {} is the",
        _pairs(
            "Japan=yen, China=yuan, India=rupee, Russia=ruble, Mexico=peso, Brazil=real, "
            "England=pound, Switzerland=franc, Poland=zloty, Turkey=lira, Thailand=baht, "
            "Israel=shekel, Hungary=forint, Germany=euro, Canada=dollar, Sweden=krona, Iraq=dinar"
        ),
        COUNTRIES,
    ),
    "young animals": Kind(
        "a young {} is called a",
        _pairs(
            "dog=puppy, cat=kitten, cow=calf, sheep=lamb, goat=kid, horse=foal, pig=piglet, "
            "hen=chick, duck=duckling, bear=cub, deer=fawn, swan=cygnet, frog=tadpole, "
            "eagle=eaglet, spider=spiderling, man=boy, woman=girl, kangaroo=joey"
        ),
        WORDS,
    ),
}
