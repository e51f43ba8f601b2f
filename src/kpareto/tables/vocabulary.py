"""The words by which columns are recognised: identifiers, quasi-identifiers and sensitive columns, in seven languages.

English, German, French, Spanish, Italian, Portuguese and Dutch, written without accents. A name is split into words
(``PatientBirth_date`` is patient birth date); a topic is recognised by one of its words, or by words written together.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
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
_KIND_OF_FORM = {  # by the words of forms.py; a fax has the number of a telephone
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
