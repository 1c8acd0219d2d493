"""Finding and masking in text."""

from __future__ import annotations

import hashlib
import random
import time
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.secrets import FoundSecret, find, mask, rules
from tests.secrets.corpus import samples

KEY = b"k" * 32
ALL = list(samples(1))


def test_every_rule_has_a_sample() -> None:
    assert {rule.id for rule in rules()} == {sample.rule for sample in ALL}


def test_no_two_rules_share_a_name() -> None:
    assert len({rule.id for rule in rules()}) == len(rules())


@pytest.mark.parametrize(
    "frame", ["{}", "before {} after", "> {}\n", "x={}\n", '{{"a": "{}"}}', "| {} |", "`{}`", "a\\n{}\\n"]
)
def test_a_secret_does_not_survive_in_any_surroundings(frame: str) -> None:
    masked = [(sample, mask(frame.format(sample.text), KEY).text) for sample in ALL]
    assert [sample for sample, text in masked if sample.secret in text] == []
    assert [sample for sample, text in masked if f"[secret:{sample.rule}:" not in text] == []


@pytest.mark.parametrize("text", ["password: Tr0ub4dor&3", "db_password: aB3&x9!k\nuser: bob"])
def test_a_password_after_a_colon_may_contain_an_ampersand(text: str) -> None:
    assert "&" not in mask(text, KEY).text


@pytest.mark.parametrize(
    "text",
    [
        "password: required",
        "password: string",
        "password: tenletters",
        "password=newUserPasswordHash",
        "password: getUserInputAsString",
        "pass: TestParserReads12",
        "PASS: TestHTTPServerTimesOut",
        "pass: 12 of 12",
        "username: string\npassword: undefined",
        "user: bob\npassword: required",
        "username: admin\npassword: optional",
        "{ user: name, password: plaintext }",
        "password: lengthCheck",
        "pwd=/home/user/project",
    ],
)
def test_a_word_behind_password_is_not_taken_for_one(text: str) -> None:
    assert mask(text, KEY).text == text


def test_a_name_may_end_in_two_words() -> None:
    key = hashlib.sha256(b"a key of Rails").hexdigest()
    assert key not in mask(f"SECRET_KEY_BASE={key}", KEY).text


@pytest.mark.parametrize("seed", range(2, 12))
def test_no_secret_of_any_kind_survives(seed: int) -> None:
    planted = list(samples(seed))
    masked = mask("\n\n".join(sample.text for sample in planted), KEY)
    assert [sample.rule for sample in planted if sample.secret in masked.text] == []


def test_masking_what_is_masked_changes_nothing() -> None:
    masked = [mask(f"see {sample.text} here", KEY).text for sample in ALL]
    assert [mask(text, KEY).text for text in masked] == masked


def test_the_same_secret_has_the_same_mask_and_another_has_another() -> None:
    one, other = (next(s.text for s in samples(seed) if s.rule == "github-token") for seed in (1, 2))
    first, second, third = mask(f"{one} {other} {one}", KEY).text.split()
    assert first == third != second


def test_without_the_key_a_mask_cannot_be_made_again() -> None:
    token = next(sample.text for sample in ALL if sample.rule == "stripe-key")
    assert mask(token, KEY).text != mask(token, b"j" * 32).text


def test_what_is_found_is_told_by_its_place() -> None:
    token = next(sample.text for sample in ALL if sample.rule == "npm-token")
    assert find(f"use {token}.") == [FoundSecret("npm-token", 4, 4 + len(token))]


def test_the_particular_rule_gives_the_name() -> None:
    token = next(sample.text for sample in ALL if sample.rule == "gitlab-token")
    assert [found.rule for found in find(f'GITLAB_TOKEN = "{token}"')] == ["gitlab-token"]


def test_a_secret_inside_a_larger_one_is_masked_with_it() -> None:
    key = next(sample.text for sample in ALL if sample.rule == "aws-access-key-id")
    masked = mask(f'password = "x1!{key}!y"', KEY).text
    assert key not in masked
    assert masked.count("[secret:") == 1


def test_a_password_told_in_a_sentence_is_masked_without_the_sentences_end() -> None:
    first, second = (mask(text, KEY).text for text in ("The db password is hunter2.", "password is hunter2"))
    assert first.startswith("The db password is [secret:password-told:")
    assert first.removeprefix("The db ") == f"{second}."


# What is no secret -----------------------------------------------------------------------------------


def _identifiers() -> list[str]:
    dice = random.Random(5)
    sha = hashlib.sha256(b"x").hexdigest()
    integrity = (
        "sha512-" + "".join(dice.choices("abcdefghijklmnopqrstuvwxyzABCDEFGH0123456789+/", k=86)) + "=="
    )
    return [
        f"commit {sha[:40]}",
        f"merge {sha[:40]} into {sha[5:45]}",
        f'"integrity": "{integrity}"',
        f"digest: sha256:{sha}",
        f'"id": "{uuid.UUID(int=dice.getrandbits(128))}"',
        f'{{"id": "call_{sha[:24]}", "type": "function"}}',
        "toolu_01A09q90qw90lq917835lq9",
        "/home/me/work/projects/token-service/src/api_key/rotate_secret_v2.py",
        "https://example.org/a/b?page=2&next_page_token=CAUQAAxyz0123456789",
        "max_tokens: 4096, total_tokens=1234567",
        'token = "your_api_token_here"',
        "password: <password>",
        'password = os.environ["DB_PASSWORD"]',
        "api_key=settings.openai_api_key,",
        "secret = self._client.webhook_secret_value",
        'apiKey: process.env.ANTHROPIC_API_KEY ?? ""',
        "secret: ${{ secrets.GITHUB_TOKEN }}",
        'PASSWORD_FIELD = "password1"',
        "export OPENAI_API_KEY=sk-...",
        "postgres://user:password@localhost:5432/db",
        'tokenizer = "meta-llama/Llama-3.1-8B-Instruct"',
        "the token is refreshed; the secret stays",
        "run it with --password and a name",
        "Your password is case-sensitive and 8+ characters long",
        "the password is wrong! It was changed on 2024-01-02",
        "the password is bcrypt2-hashed, and the old password was sha256-hashed",
        "the password is $DB_PASS1; la contraseña es obligatoria; le mot de passe est requis",
        'password="password", confirm_password="changeme"',
        '{"password": "string", "type": "password"}',
        "connect(user=user, password=credential)",
        "Cookie: theme=dark; lang=en",
        f"session_id={uuid.UUID(int=dice.getrandbits(128))}",
        f'"public_key": "{integrity[7:50]}="',
        "key = sorted_keys_of_the_table[0]",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
        "private_key: Ed25519PrivateKey | Ed448PrivateKey",
        "token: AccessToken12345678; api_key=testKey1234567890",
        "| password | varchar255 | the hash, sha256-hashed |\n| password | VARCHAR(255) |",
        "WITH PASSWORD 'password1'; IDENTIFIED BY 'secret'",
        "use base64 as the password encoding; use sha256-hashed as the password hash",
        'auth=("user", "pass"), auth=("test", "password1")',
        "docker login -u me -p $DOCKER_PASS1; redis-cli -p 6379 -h db1; docker login -p ${PASS1}",
        "htpasswd -b .htpasswd user password",
        "password: >-\n  The password1 of the account",
        "--password $DB_PASSWORD1 --password db_password1 --password config.password",
        "https://example.org/a?key=chapter-2&key=sortByDateDescending1",
        "def login(user: str, pw: str), pw: int, pw = Page2Object, pw=pw1, PW=$PW1, pw: ${PW}",
        "pw: Uint8Array; const pw = await chromium.launch()",
        "the pw is hashed with sha256; pw is a function of x2; the first pass is O(n2)",
        "password:string, password:String!, {user:name,password:e.password1}, password:t?1:0",
        'password : str = "" and Password : VARCHAR(255) and password : Minimum8Chars',
        "PASS=1 PASS=$1 PASS=true PASS=TestRuns12",
        "api key: see docs/api-keys-v2.md; api key: OPENAI_API_KEY_PRODUCTION_1",
        f"cache key: {sha[:40]}; React key: listItemWithStableIdentity2024",
        "define('DB_PASSWORD', getenv('X1')); define('PASSWORD', PASSWORD_BCRYPT)",
        "['KEYPASSWD', 'KRB4LEVEL']",
        '<input name="password" value="{{ form.password1 }}"/> <add key="Password" value="#{DbPassword1}#"/>',
        "ports: 127.0.0.1:5432:5432/tcp and localhost:5432:database:username:password",
        "curl -url=http://host:8080/a1; curl --url http://host:8080/a1; curl -uuser:$PASS1 x",
        "openssl -passin pass:password -passout pass:sample; openssl -passin env:PASS1",
        "tool --passWithNoTests --pass 1 --pass-through=abcdef12",
        f"https://my-long-user-name-2024@git.test/a https://{sha[:32]}@o1.ingest.sentry.io/12",
        "root:*:19000:0 bob:!:19000:0 price:$6$ regex:$1$2$3 path:$HOME/abc$1$x",
        "sk-learn-contrib/category_encoders and sk-estimator-html-doc-link",
    ]


def test_names_and_numbers_of_things_are_left() -> None:
    assert [text for text in _identifiers() if mask(text, KEY).text != text] == []


@given(st.text(max_size=300))
def test_any_text_can_be_masked_and_then_stays(text: str) -> None:
    once = mask(text, KEY).text
    assert mask(once, KEY).text == once


# Time ------------------------------------------------------------------------------------------------

HOSTILE = [
    *dict.fromkeys(rule.keywords[0] for rule in rules()),
    "a",
    "A1",
    "password=",
    'token="',
    "https://a:",
    "-----BEGIN PRIVATE KEY-----",
    "eyJa.",
    "curl -u a:",
    "passphrase: word ",
    "passphrase='a1 b2 ",
    "seed phrase: able ",
    "mnemonic: " + "able " * 23,
    "%2B",
    "\\n",
    "sig=%2b",
    "pw=Aa1",
    "x key: Aa1",
    "https://a1",
    ":$6$a",
    "curl -ua",
    "--pass a1",
]


def _seconds(text: str) -> float:
    start = time.process_time()
    find(text)
    return time.process_time() - start


def test_hostile_text_is_read_in_linear_time() -> None:
    """Each takes hundredths of a second; a quadratic pattern would take seconds, a worse one minutes."""
    for piece in HOSTILE:
        assert _seconds(piece * (30_000 // len(piece))) < 1, piece


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("My passphrase is correct horse battery staple.", "correct horse battery staple"),
        ('the password is "purple monkey dishwasher", keep it', "purple monkey dishwasher"),
        ("Our passphrase is purple monkey dishwasher tango, keep it.", "purple monkey dishwasher tango"),
        ("my passphrase is Correct Horse Battery Staple", "Correct Horse Battery Staple"),
        ("passphrase: correct horse battery staple", "correct horse battery staple"),
        ("GPG_PASSPHRASE='correct horse battery staple'", "correct horse battery staple"),
        ("The password is stored in the vault.", None),
        ("Passphrase: used to encrypt private keys", None),
        ("passphrase: optional string for key files", None),
        ('"passphrase": "Enter your passphrase here"', None),
        ("seed phrase: twelve words that the wallet shows once when you first open and set", None),
        ("My Password is Stored in Keychain Access Only", None),
        ("my password is too short and weak", None),
        ("The password is visible while typing fast", None),
        ("The password is 'must be at least eight characters'", None),
        ("The password is checked against known hashes before login.", None),
    ],
)
def test_a_passphrase_of_several_words_is_found_and_a_sentence_about_passwords_is_not(text, secret):
    found = [text[one.start : one.end] for one in find(text)]
    assert found == ([secret] if secret else [])
