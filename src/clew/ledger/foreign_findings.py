"""Which sentences in other languages than English state a verdict or a reason, and no intention.

"Причина: файл не найден" and "원인: 캐시가 이미 만료됨" do; "Теперь проверю файл" and "이제 푸시하겠습니다"
say what the agent will do. Few words of each language are known, so a sentence with none of them is no
finding: few and true findings are better than many.
"""

from __future__ import annotations

import re

from clew.message.text import lazy_pattern


def states_verdict(sentence: str) -> bool:
    """Return True if a sentence has a sign of a verdict or a reason, and none of an intention."""
    return _VERDICT.search(sentence) is not None and _INTENT.search(sentence) is None


_VERDICT = lazy_pattern(
    r"때문|원인|이미|없(?:음|다|는|어|습니다)|아니(?:다|라|야)|완료|확인됨|확인했|발생|실패|중요|결함|핵심|불가|동일|존재|결론"
    r"|이라서?\b"
    r"|ため|原因|ので|既に|すでに|ない[。、]|できない|判明|結論|失敗|不要"
    r"|因为|由于|原因|已经|没有|不能|无法|发现|失败|结论|必须"
    r"|\b(?:потому|из-за|причин\w+|оказалось|уже|отсутству\w+|ошибк\w+|только|вывод|подтвержд\w+"
    r"|не (?:работа|поддержива|существу|найден|груз)\w*)\b"
    r"|\b(?:porque|por isso|causa\w*|já|falta\w*|erro|devido|portanto|confirmad\w+|inconsistência|contradição"
    r"|não (?:existe|funciona|suporta|há|tem))\b"
    r"|\b(?:ya (?:existe|está|hay)|no (?:existe|funciona|hay|soporta)|error|debido|por eso|confirmado)\b"
    r"|\b(?:weil|ursache|grund|bereits|fehlt|fehler|deshalb|bestätigt|liegt an"
    r"|nicht (?:unterstützt|vorhanden|gesetzt))\b"
    r"|\b(?:parce que|cause|déjà|n['’]existe|manque|erreur|donc|confirmé|ne (?:fonctionne|marche))\b"
    r"|\b(?:perché|già|manca|errore|quindi|confermato|non (?:esiste|funziona))\b",
    re.IGNORECASE,
)
"""Korean, Japanese, Chinese, Russian, Portuguese, Spanish, German, French, Italian: cause, already, fails."""
_INTENT = lazy_pattern(
    r"겠습니다|(?:할|을|맞출|볼|둘)게|하자\b|보자\b|(?:먼저|마지막으로|이제)\s"
    r"|(?:구현|진행|확인|수정|교체|머지|푸시)(?:한다|합니다|하고)"
    r"|ます。?$|しましょう|してから|これから|まず"
    r"|我来|我将|让我|接下来|现在|首先"
    r"|\b(?:давай\w*|сейчас|теперь|проверю|посмотрю|сделаю|буду|создам|начн\w+|нужно|сначала|перед тем)\b"
    r"|\b(?:vou|vamos|agora|preciso|antes de|primeiro|em seguida)\b"
    r"|\b(?:voy a|vamos|ahora|necesito|primero)\b"
    r"|\b(?:ich werde|jetzt|lass(?:en)? (?:uns|mich)|zuerst|muss ich|als nächstes)\b"
    r"|\b(?:je vais|maintenant|d['’]abord|il faut|voyons)\b"
    r"|\b(?:adesso|ora vado|devo|prima di)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""I will, let us, now, first, before: the same languages."""
