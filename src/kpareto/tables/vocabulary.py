"""The words by which columns are recognised: identifiers, quasi-identifiers and sensitive columns, in seven languages.

English, German, French, Spanish, Italian, Portuguese and Dutch, written without accents. A name is split into words
(``PatientBirth_date`` is patient birth date); a topic is recognised by one of its words, or by words written together.

What the values are by their form tells more, whatever the name: mail, telephone, accounts, hashes, names. A form is one
where nearly all of some values have it; check digits are reckoned where there are any. Names of persons have no form of
their own: they are two or more words with capitals, of which one is often a frequent given name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeVar

Topic = Literal[
    "person id",
    "contact",
    "name",
    "person",
    "number",
    "free text",
    "age",
    "birth",
    "date",
    "sex",
    "zip",
    "place",
    "race",
    "marital",
    "education",
    "occupation",
    "country",
    "household",
    "health",
    "money",
    "belief",
    "justice",
]
Leaning = Literal["identifier", "weak identifier", "quasi-identifier", "sensitive"]
Meaning = TypeVar("Meaning")

# What a topic says about a column; a weak identifier is one only where its values are nearly all different, or where it
# names persons who have several rows. Of several topics in a name the first one here counts.
LEANINGS: Mapping[Topic, Leaning] = {
    "person id": "identifier",
    "contact": "identifier",
    "free text": "weak identifier",
    "birth": "quasi-identifier",
    "age": "quasi-identifier",
    "sex": "quasi-identifier",
    "zip": "quasi-identifier",
    "race": "quasi-identifier",
    "marital": "quasi-identifier",
    "education": "quasi-identifier",
    "country": "quasi-identifier",
    "household": "quasi-identifier",
    "health": "sensitive",
    "money": "sensitive",
    "belief": "sensitive",
    "justice": "sensitive",
    "occupation": "quasi-identifier",
    "place": "quasi-identifier",
    "date": "quasi-identifier",
    "name": "identifier",
    "person": "weak identifier",
    "number": "weak identifier",
}

_WORDS: Mapping[Topic, str] = {
    "person id": """ssn nhs mrn nino dni nie nif cpf bsn insee nir patientid personid subjectid userid customerid
        memberid employeeid clientid studentid participantid respondentid pid uid uuid guid patientnr patientennummer
        socialsecurity socialsecuritynumber nationalid passport passportnumber personalnummer versichertennummer
        sozialversicherungsnummer steuernummer numeropatient numerosecu idpaciente codicefiscale pseudonym caseid caseno
        casenr casenumber recordid recordno hhid householdid pnr fnr personalnumber personnumber personnummer
        fodselsnummer fallnummer fallnr patientno patientnumber subjectno subjectnumber""",
    "contact": """email mail emailaddress telephone phone phonenumber mobile cell cellphone fax telefon telefonnummer
        handy handynummer tel telefono celular cellulare telefone telemovel telefoonnummer url website ip ipaddress
        mac iban bic account accountnumber konto kontonummer compte cuenta conto creditcard cardnumber kreditkarte
        licence license licenceplate licenseplate kennzeichen plate vin address addr street streetaddress adresse
        anschrift strasse rue direccion calle indirizzo via endereco rua adres straat hausnummer imei device
        deviceid username login twitter handle""",
    "name": """name names firstname lastname surname forename fullname givenname familyname middlename maidenname
        vorname nachname familienname prenom nom nomfamille nombre apellido apellidos cognome nome sobrenome apelido
        voornaam achternaam naam initials""",
    # One of these words names a person where nothing else is said: age of patient is an age.
    "person": """id ids patient patients subject participant respondent person user customer client member employee
        student case individual proband patienten teilnehmer kunde mitarbeiter paciente paziente cliente usuario""",
    "number": "identifier nr no num number nummer numero numer key code ref reference serial record index hash",
    "free text": """note notes comment comments remark remarks description text freetext memo narrative bemerkung
        bemerkungen kommentar beschreibung commentaire remarque comentario observaciones nota commento opmerking""",
    "age": "age ages alter eta edad idade leeftijd ageyears ageinyears lebensalter",
    "birth": """birth birthdate birthday birthyear birthyr dob yob dateofbirth yearofbirth geburt geburtsdatum
        geburtstag geburtsjahr gebjahr gebdat naissance datenaissance nacimiento fechanacimiento nascita nascimento
        geboorte geboortedatum""",
    "date": """date datum fecha timestamp time day month admission discharge visit admitted discharged death died
        deathdate visitdate admissiondate dischargedate aufnahme entlassung aufnahmedatum todesdatum sterbedatum deces
        visite ingreso alta fallecimiento decesso obito overlijden hired hiredate started enddate startdate""",
    "sex": "sex gender geschlecht geschl sexe genre sexo genero sesso genere geslacht male female",
    "zip": """zip zipcode postcode postalcode postal zip3 zip5 plz postleitzahl codepostal cp codigopostal cap cep
        codicepostale postnummer""",
    "place": """city town county region state province district municipality neighbourhood neighborhood village
        location area stadt ort gemeinde kreis bundesland wohnort bezirk ville commune departement ciudad municipio
        provincia comunidad citta comune regione cidade estado bairro stad gemeente provincie latitude longitude lat
        lon lng long ward parish borough hospital clinic school canton kanton cantone""",
    "race": """race racef hispanic hisp afam ethrace
        ethnicity ethnic ethnie ethnizitaet raza etnia raca etniciteit hautfarbe caste tribe""",
    "marital": """marital maritalstatus married spouse familienstand zivilstand etatcivil situationfamiliale
        estadocivil statocivile burgerlijkestaat civilstatus widowed divorced""",
    "education": """education educ degree schooling qualification school diploma bildung bildungsabschluss abschluss
        schulabschluss studium formation niveauetudes etudes educacion estudios istruzione titolostudio escolaridade
        educacao opleiding""",
    "occupation": """occupation job profession workclass employment employer employed work worker title jobtitle
        industry beruf taetigkeit arbeitgeber branche stellung metier travail emploi employeur profesion ocupacion
        empleo trabajo empleador professione lavoro occupazione profissao ocupacao emprego beroep functie department
        rank""",
    "country": """country nationality citizenship nation nativecountry birthplace birthcountry origin language mother
        tongue land staat staatsangehoerigkeit nationalitaet herkunft sprache herkunftsland pays nationalite langue
        origine pais nacionalidad idioma lengua paese nazionalita lingua nacionalidade nationaliteit taal immigrant
        immigration""",
    "household": """household relationship children kids dependents dependants family siblings kinder haushalt
        haushaltsgroesse kinderzahl enfants menage foyer hijos hogar familia figli famiglia filhos agregado kinderen
        huishouden parity height""",
    "health": """health chronic injury injured injuries medicaid
        diagnosis diagnoses diagnosed disease illness condition icd icd9 icd10 symptom symptoms treatment
        medication drug drugs therapy hiv aids cancer tumor tumour blood glucose cholesterol bmi pregnancy pregnant
        disability disabled mental psychiatric asthma diabetes diabetic
        hepatitis tuberculosis polio colitis epilepsy stroke hypertension depression headache allergies infection
        pregnancies genetic genotype mutation lab result smoker smoking alcohol allergy
        diagnose krankheit behandlung medikament befund blutgruppe behinderung diagnostic maladie traitement handicap
        diagnostico enfermedad tratamiento medicamento discapacidad diagnosi malattia trattamento farmaco disabilita
        doenca tratamento ziekte behandeling procedure outcome surgery vaccination""",
    "money": """dividends
        salary income wage wages pay earnings revenue wealth debt debts credit loan balance mortgage payment
        bonus capitalgain capitalloss salaryclass benefit benefits insurance gehalt lohn einkommen vermoegen schulden
        kredit salaire revenu revenus dette salario ingreso ingresos renta sueldo deuda stipendio reddito debito
        rendimento renda divida salaris inkomen loon schuld""",
    "belief": """religion religious faith confession denomination church political politics party vote voted union
        ideology ideo prayer bornagain
        orientation sexuality konfession glaube partei religione religiao partido religie geloof voto opinion""",
    "justice": """crime criminal conviction convicted offence offense offender arrest arrested prison sentence
        recidivism recid straftat vorstrafe delit condamnation delito condena reato crimen misdrijf victim""",
}
# A long word may be part of a longer one: salaryclass, ageatdiagnosis.
_LONG = 6
_TOPIC_OF = {word: topic for topic in tuple(LEANINGS)[::-1] for word in _WORDS[topic].split()}
_LETTERS = str.maketrans(
    {"ß": "ss", "ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "æ": "ae", "ø": "o"}
)


def words_of(name: str) -> list[str]:
    """The words of a column's name, in lower case and without accents."""
    plain = unicodedata.normalize("NFKD", name.translate(_LETTERS))
    ascii_only = "".join(mark for mark in plain if not unicodedata.combining(mark))
    humps = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", ascii_only)
    return re.findall(r"[a-z]+[0-9]*|[0-9]+", humps.lower())


def topics_of(name: str) -> tuple[Topic, ...]:
    """All that a column is about, going by its name, the one that counts first; none where no word is known."""
    topics = _look_up(name, _TOPIC_OF)
    return tuple(topic for topic in LEANINGS if topic in topics)


def topic_of(name: str) -> Topic | None:
    """What a column is about, going by its name; None where no word is known."""
    return next(iter(topics_of(name)), None)


def _look_up(name: str, meanings: Mapping[str, Meaning]) -> set[Meaning]:
    """What the words of a name mean, one by one and written together; else what long words mean that are part of it."""
    words = words_of(name)
    joined = ["".join(words[i : i + n]) for n in (4, 3, 2) for i in range(len(words) - n + 1)]
    known = {meanings[word] for word in (*joined, *words) if word in meanings}
    long = () if known else (word for word in meanings if len(word) >= _LONG)
    return known or {meanings[part] for part in long for word in words if part in word}


# -- the kinds of identifiers of HIPAA ---------------------------------------------------------------------------------

# 45 CFR 164.514(b)(2)(i), by the letters there: what each is called, the words for it, and the forms that values have.
SAFE_HARBOR: Mapping[str, str] = {
    "A": "Names",
    "B": "Places smaller than a state",
    "C": "Dates but for the year; ages over 89",
    "D": "Telephone numbers",
    "E": "Fax numbers",
    "F": "E-mail addresses",
    "G": "Social security numbers",
    "H": "Medical record numbers",
    "I": "Health plan beneficiary numbers",
    "J": "Account numbers",
    "K": "Certificate and license numbers",
    "L": "Vehicles: serial numbers, license plates",
    "M": "Devices: identifiers, serial numbers",
    "N": "Web addresses (URL)",
    "O": "Internet addresses (IP)",
    "P": "Biometric identifiers, finger and voice prints",
    "Q": "Photographs of the full face",
    "R": "Any other unique number, characteristic or code",
}
_KIND_WORDS: Mapping[str, str] = {
    "B": """address addr street streetaddress adresse anschrift strasse rue direccion calle indirizzo via endereco rua
        adres straat hausnummer""",
    "D": """telephone phone phonenumber mobile cell cellphone telefon telefonnummer handy handynummer tel telefono
        celular cellulare telefone telemovel telefoonnummer""",
    "E": "fax telefax faxnumber faxnummer",
    "F": "email mail emailaddress",
    "G": """ssn socialsecurity socialsecuritynumber nationalid nino dni nie nif cpf bsn insee nir codicefiscale
        sozialversicherungsnummer numerosecu personnummer personnumber fodselsnummer""",
    "H": """mrn nhs medicalrecord medicalrecordnumber patientid patientno patientnr patientnumber patientennummer
        numeropatient idpaciente caseid caseno casenr casenumber fallnummer fallnr recordid recordno""",
    "I": """healthplan beneficiary beneficiaryid memberid insuranceid insurancenumber policynumber medicaidid medicareid
        versichertennummer""",
    "J": """account accountnumber iban bic konto kontonummer compte cuenta conto creditcard cardnumber kreditkarte""",
    "K": "certificate licence license licencenumber licensenumber passport passportnumber npi",
    "L": "vehicle vin plate licenceplate licenseplate kennzeichen chassis",
    "M": "device deviceid imei mac serial serialnumber seriennummer",
    "N": "url website homepage",
    "O": "ip ipaddress",
    "P": "biometric biometrics fingerprint fingerabdruck voiceprint retina",
    "Q": "photo photograph picture portrait foto",
    "R": "username login twitter handle pseudonym uuid guid",
}
_KIND_OF = {word: kind for kind, words in _KIND_WORDS.items() for word in words.split()}
_KIND_OF_FORM = {  # by the words of FORMS; a fax has the number of a telephone
    "e-mail addresses": "F",
    "numbers that tell one thing from all others (UUID)": "R",
    "network addresses": "O",
    "addresses of pages": "N",
    "bank accounts (IBAN)": "J",
    "numbers of persons": "G",
    "numbers of cards": "J",
    "telephone numbers": "DE",
    "hashes": "R",
    "names of persons": "A",
}
_KIND_OF_TOPIC: Mapping[Topic, str] = {"zip": "B", "place": "B", "birth": "C", "age": "C", "date": "C"}
_KIND_OF_FIRST: Mapping[Topic, str] = {"name": "A", "person id": "R", "person": "R", "number": "R"}


def identifier_kinds(name: str, form: str = "") -> str:
    """The letters of the kinds of identifiers that a column looks like, by its name and by the form of its values."""
    topics, words = topics_of(name), words_of(name)
    kinds = {*_look_up(name, _KIND_OF), *_KIND_OF_FORM.get(form, "")}
    kinds |= {_KIND_OF_TOPIC[topic] for topic in topics if topic in _KIND_OF_TOPIC}
    if "state" in words and "B" not in identifier_kinds(" ".join(word for word in words if word != "state")):
        kinds.discard("B")  # a state itself may be told
    if topics and topics[0] in _KIND_OF_FIRST and (not kinds or topics[0] == "name"):
        kinds.add(_KIND_OF_FIRST[topics[0]])
    return "".join(sorted(kinds))


MOSTLY = 0.8  # share of the values that must have a form
NAMED = 0.3  # share of values of several words with a frequent given name, from which all are names of persons
ALONE = 0.5  # the same of single words
MOMENTS = "moments"  # of a column of dates
LEAST = 10  # single words that must be there: a few may be anything

_IBAN = {  # the letters of an account number by country
    **dict.fromkeys(("NO",), 15), **dict.fromkeys(("BE",), 16), **dict.fromkeys(("DK", "FI", "NL"), 18),
    **dict.fromkeys(("AT", "EE", "LT", "LU"), 20), **dict.fromkeys(("CH", "HR", "LI", "LV"), 21),
    **dict.fromkeys(("BG", "DE", "GB", "IE", "RS"), 22), **dict.fromkeys(("AE", "GI", "IL"), 23),
    **dict.fromkeys(("CZ", "ES", "RO", "SA", "SE", "SK"), 24), **dict.fromkeys(("PT",), 25),
    **dict.fromkeys(("IS", "TR"), 26), **dict.fromkeys(("FR", "GR", "IT", "SM"), 27),
    **dict.fromkeys(("CY", "HU", "PL"), 28), **dict.fromkeys(("BR",), 29), **dict.fromkeys(("MT",), 31),
}  # fmt: skip
_PHONE = re.compile(
    r"(\+|00)[1-9][\d ()./-]{6,20}"  # as it is dialled from abroad
    r"|\(?0\d{1,5}\)?[ /-][\d ()./-]{5,14}"  # with an area code
    r"|(1[-. ])?\(?[2-9]\d{2}\)?[-. ][2-9]\d{2}[-. ]\d{4}"  # as in North America
)
_GIVEN = """
aaron adam adrian ahmed aisha alan albert alejandro alessandro alex alexander alexandra alexis ali alice alicia alina
allison amanda amelia amir amy ana andre andrea andreas andrew angela anita anja ann anna anne annika anthony antje
antoine anton antonia antonio arthur astrid barbara beate ben benjamin bernd betty bianca bill birgit bjorn bob
brandon brenda brian bruno camille carl carla carlos carmen carol caroline catherine cem charles charlotte chen chloe
chris christa christian christina christine christoph christopher claire clara claudia clemens cynthia daniel daniela
david deborah denise dennis diana diego dieter dirk dominik donald donna doris dorothy edith eduardo edward elena
eleni elias elif elisabeth elizabeth ella ellen emil emilia emily emma eric erik erika ernst esther eva evelyn fabian
fatima felix fernando finn florian frances francesca francesco francisco francois frank franz fred frederik friedrich
gabriel gabriela gary george gerd gerhard gertrud gianni gina giovanni giulia giuseppe gloria greta gudrun guillaume
gus gustav hana hanna hannah hans harald harry hassan heather heike heinrich heinz helen helena helga helmut henrik
henry herbert hermann hugo ian ibrahim ida inga ingo ingrid irene iris isabel isabella ivan ivo jack jacob jakob james
jan jana jane janet jason javier jean jeffrey jennifer jens jessica joachim joan joanna joao john jonas jonathan jorge
jose josef joseph joshua juan judith juergen julia julian julie jurgen justin kai karen karin karl katharina katherine
kathleen katja kevin kim klara klaus kristin kurt larissa lars laura lea lena leo leon leonard leonie linda lisa liz
lorenzo louis louise luca lucas lucia lucie luis luisa lukas maja manfred manuel marc marcel marco marcus margaret
maria marianne marie marina mario marion mark markus marta martha martin martina mary mathias matteo matthew matthias
max maximilian megan mehmet melanie melissa mia michael michaela michel michelle miguel mohamed mohammed monica monika
muhammad murat mustafa nadine nancy natalie nicholas nick nico nicolas nicole nina noah nora norbert olaf olga oliver
olivia oscar otto pablo pamela paolo patricia patrick paul paula paulo pedro peter petra philip philipp pia pierre
rachel rafael ralf ralph raymond rebecca regina reinhard renate ricardo richard rita robert roberto roland rolf ronald
rosa rose rudolf ruth ryan sabine sabrina samantha samuel sandra sara sarah scott sean sebastian sergio sharon silke
silvia simon simone sofia sonja sophia sophie stefan stefanie stephanie stephen steven sue susan susanne sven svenja
sylvia tanja tatjana teresa theo theresa thomas thorsten tim timo tina tobias tom tomas ulrich ulrike ursula ute uwe
valentina vanessa vera veronica victor victoria viktor vincent volker walter waltraud wei werner wilhelm william
wolfgang xavier yasmin yusuf yvonne zoe
"""
GIVEN = frozenset(_GIVEN.split())
_WORD = r"[^\W\d_][^\W\d_.'’-]*[.'’-]?[^\W\d_]*"
_PERSON = re.compile(rf"{_WORD}(,? {_WORD}){{1,3}}")


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of cards (Luhn)."""
    total = 0
    for place, digit in enumerate(map(int, reversed(digits))):
        total += digit if place % 2 == 0 else sum(divmod(2 * digit, 10))
    return total % 10 == 0


def _is_account(text: str) -> bool:
    """An IBAN, by its country and length, or by its check digits (ISO 7064, remainder 1 of 97)."""
    plain = re.sub(r"[ -]", "", text).upper()
    if not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", plain):
        return False
    reckoned = int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])) % 97 == 1
    return reckoned or _IBAN.get(plain[:2]) == len(plain)


def _is_card(text: str) -> bool:
    return re.fullmatch(r"[\d -]{13,23}", text) is not None and 13 <= len(_digits(text)) <= 19 and luhn(_digits(text))


def _is_person_number(text: str) -> bool:
    """A number of a person with a check digit or parts that no other number has: of Sweden, of the United States."""
    nordic = re.fullmatch(r"(\d{2})?\d{6}[-+]\d{4}", text) is not None and luhn(_digits(text)[-10:])
    return nordic or re.fullmatch(r"\d{3}-\d{2}-\d{4}", text) is not None


def _is_hash(text: str) -> bool:
    hexadecimal = re.fullmatch(r"(0x)?([0-9a-f]{16,}|[0-9A-F]{16,})", text) is not None
    coded = re.fullmatch(r"[A-Za-z0-9+/_-]{22,}={0,2}", text) is not None
    mixed = all(re.search(kind, text) for kind in ("[0-9]", "[a-z]", "[A-Z]"))
    return (hexadecimal and not text.isdigit()) or text.startswith(("$2a$", "$2b$", "$argon2")) or (coded and mixed)


def _is_phone(text: str) -> bool:
    return _PHONE.fullmatch(text) is not None and 7 <= len(_digits(text)) <= 15


def _by_pattern(pattern: str) -> Callable[[str], bool]:
    matches = re.compile(pattern, re.IGNORECASE).fullmatch
    return lambda text: matches(text) is not None


FORMS: Mapping[str, Callable[[str], bool]] = {  # what a column holds -> whether a value does
    "e-mail addresses": _by_pattern(r"(mailto:)?[^@\s<>]+@[^@\s<>]+\.[a-z]{2,}"),
    "numbers that tell one thing from all others (UUID)": _by_pattern(
        r"(urn:uuid:)?\{?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?"
    ),
    "network addresses": _by_pattern(
        r"(\d{1,3}\.){3}\d{1,3}(:\d+)?|([0-9a-f]{2}[:-]){5}[0-9a-f]{2}|[0-9a-f:]*::[0-9a-f:]+"
    ),
    "addresses of pages": _by_pattern(r"(https?://|www\.)\S+"),
    "bank accounts (IBAN)": _is_account,
    "numbers of persons": _is_person_number,
    "numbers of cards": _is_card,
    "telephone numbers": _is_phone,
    "hashes": _is_hash,
}


def are_moments(values: Sequence[str]) -> bool:
    """Whether nearly all of some dates have a time of the day, other than midnight."""
    midnight = re.compile(r"[T ]00:00(:00(\.0+)?)?Z?$")
    timed = [re.search(r"[T ]\d{2}:\d{2}", value) and not midnight.search(value) for value in values]
    return bool(timed) and sum(map(bool, timed)) >= MOSTLY * len(timed)


def form_of(values: Sequence[str]) -> str:
    """What nearly all of some different values of a column are, in words; nothing where they have no such form."""
    texts = [value.strip() for value in values if value.strip()]
    if not texts:
        return ""
    for form, has_form in FORMS.items():
        if sum(map(has_form, texts)) >= MOSTLY * len(texts):
            return form
    return "names of persons" if _are_names(texts) else ""


def _are_names(texts: Sequence[str]) -> bool:
    """Whether the values are names of persons, by how many of them have a frequent given name in them."""
    full = [text for text in texts if _PERSON.fullmatch(text) and text[0].isupper() and text != text.lower()]
    named = sum(any(word in GIVEN for word in re.split(r"[ ,.-]+", text.lower())) for text in full)
    if len(full) >= MOSTLY * len(texts):
        return len(full) >= 3 and named >= NAMED * len(full)
    single = sum(text.lower() in GIVEN for text in texts)
    return len(texts) >= LEAST and single >= ALONE * len(texts)
