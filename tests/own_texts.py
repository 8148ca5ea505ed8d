"""Texts of four scripts, made of sentences that were written for this: long enough for the chapters
that take a text.
"""

import random

# (subjects, verbs, objects, separator of words, end of a sentence)
PARTS = {
    "Latin": (
        "příliš žluťoučký kůň|malá dívka|starý děd|čerstvý vítr|můj přítel",
        "pěl|četl|přinášel|viděl|měřil|ztrácel",
        "ďábelské ódy|dlouhý dopis|nové město|šťastný příběh|růžové květy|tichý večer",
        " ",
        ". ",
    ),
    "Devanagari": (
        "छोटा लड़का|मेरी बहन|बूढ़ा किसान|नया शिक्षक|वह स्त्री",
        "पढ़ता है|देखता है|लिखता है|लाता है|बेचता है|माँगता है",
        "हिन्दी की पुस्तक|ताज़ा फल|लंबा पत्र|पुराना गीत|सुंदर चित्र|मीठा पानी",
        " ",
        "। ",
    ),
    "Chinese": (
        "小孩子|我的朋友|年老的农夫|新来的老师|那个女人",
        "看见了|写下了|带来了|卖掉了|喜欢|忘记了",
        "一本旧书|红色的花|很长的信|山上的雪|安静的夜晚|远方的城市",
        "",
        "。",
    ),
    "Arabic": (
        "الوَلَدُ الصغير|صديقي القديم|المعلّم الجديد|تلك المرأة|الفلاح العجوز",
        "يقرأ|يكتب|يبيع|يحمل|يرى|ينسى",
        "كتابًا قديمًا|رسالةً طويلة|وردةً حمراء|ماءً عذبًا|مدينةً بعيدة|أغنيةً جميلة",
        " ",
        "؟ ",
    ),
}


def text_of(script: str, sentences: int = 400) -> str:
    """That many sentences, some parts more frequent than others; always the same ones."""
    rng = random.Random(script)
    *parts, separator, end = PARTS[script]
    choices = [part.split("|") for part in parts]
    order = [0, 2, 1] if script == "Devanagari" else [1, 0, 2] if script == "Arabic" else [0, 1, 2]

    def drawn(part: list[str]) -> str:
        return rng.choices(part, [1 / (k + 1) for k in range(len(part))])[0]

    return "".join(separator.join(drawn(choices[k]) for k in order) + end for _ in range(sentences))
