"""Which rules are about what cannot be undone: secrets, deletion, pushing and production.

Such a rule ends only by words that address the agent (``permission.is_directed``), and never by a model's
word alone (``Pins.judge``).
"""

from __future__ import annotations

import re

from clew.message.text import lazy_pattern
from clew.rules.rule import Rule

_PROTECTED = lazy_pattern(
    r"""
      (?<!\w)\.env\b
    | \b(?:secrets?|credentials?|pass(?:w\w*|phrases?|codes?)|tokens?|sensitive|personal\ data   # secrets
        |(?:api|private|access|ssh|signing|encryption)[\ _-]?keys?
        |geheim\w*|kennw[oö]rt\w*|mots?\ de\ passe|contraseñ\w*|senhas?|wachtwoord\w*|парол\w*
        |delet\w*|drop(?![\ -]?down)|truncate|wipe\w*|rm|destroy\w*|erase\w*|purg(?:e[ds]?|ing)  # deletion
        |remov\w+\ (?:\w+\ ){0,2}(?:files?|folders?|director(?:y|ies)|data|databases?|tables?|records?
          |branch(?:es)?|anything|everything)
        |backups?|customers?['’]?\ (?:data|records?|accounts?|details|names?|e-?mails?|addresses)
        |lösch\w*|supprim\w*|effac\w*|borr[ae]\w*|elimin\w*|cancella\w*|apag\w*|verwijder\w*|usu[nń]\w*|удал\w*
        |(?:force[\ _-]?)?push\w*|pousse\w*|пуш\w*                                     # pushing
        |(?:to|on|into|from)\ (?:the\ )?[`'"]?(?:main|master)|(?:main|master)(?=\ branch|\W*\Z)
        |deploy\w*|déploy\w*|despleg\w*|releas\w*|publish\w*|veröffentlich\w*|деплой\w*  # production
        |(?:run|apply|execut)\w*\ (?:\w+\ ){0,2}migrations?
        |prod|production|produktion\w*|producción|produção|produzione|productie|прод(?:акш\w*)?
      )\b
    | \w_(?:PASSWORD|TOKEN|SECRET|KEY)\b
    | [删刪]除|密[码碼钥鑰]|推送|部署|生[产產]环境|[线線]上
    | 削除|パスワード|本番|デプロイ|삭제|비밀번호|배포|운영\ ?서버
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_protected(rule: Rule) -> bool:
    """Whether a rule is about secrets, deletion, pushing or production: a model alone never ends it."""
    return _PROTECTED.search(f"{rule.lead} {rule.quote}") is not None
