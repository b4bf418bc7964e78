/** What people read in a bundle. Plain English, no scripts, nothing from a network; drafts that a person completes and signs. */
import { type BundleFacts, describeQuestion } from './facts.js'

export const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

export const formatPage = (title: string, body: string): string =>
  `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<style>body{font:11pt/1.4 serif;max-width:48em;margin:2em auto}table{border-collapse:collapse}td,th{border:1px solid #999;padding:.2em .5em;text-align:left;vertical-align:top}section{break-inside:avoid}</style>
</head><body><h1>${title}</h1>
${body}
</body></html>
`

export function formatReadme({ question, origin, program, span }: BundleFacts): string {
  return `EVIDENCE FROM THE JOURNAL OF A CALL GATE

Asked: ${describeQuestion(question)}
Log: ${origin}
Packed by callgate ${program}

records.txt has each record: its number, its salt, and its exact bytes (JSON).
entries.bin has 50 bytes for ${span ? `every record from ${span[0]} to ${span[1]}, whether it is about the question or not, and for ` : ''}each
record of records.txt. They say when a record was written, and commit to it without showing it.
checkpoint is the signed head of the log: it commits to all of them.
state/ has what the decisions rest on, one JSON object a line: "row" is as the database had it when this was packed; "storedBy"
is the record of records.txt that says who stored it and when, and "records" are all records that say who changed it. null: no
signed record says so, and the row is only what the database says today.

rules/ has the calling rules that the decisions were judged by, as JSON. Each decision names its version ("rules"): the file's
name is the beginning of its SHA-256.

HOW TO VERIFY
1. Get the key of the log from somebody you trust, not from this bundle. With Node 18 or newer:
     node verify.mjs --key '<key>' --head <a signed head that you have kept> --witness '<key of a witness>'
   It needs no network. Exit code 0: PROVEN. 2: NOT PROVEN, for example without a head or a witness. 3: NOT CHECKED, since nothing
   could be read. 10: FALSE. This program comes from the party that packed the bundle; your own copy of callgate
   checks it too (callgate evidence check).
2. Without this program: each file of proofs/ is a C2SP tlog-proof (c2sp.org/tlog-proof) that other programs read. Its
   extra data is the entry (50 bytes), the salt (16 bytes) and the record. Bundles of more than 1,000 records have none.
3. By hand: sha256sum -c manifest.sha256 and the SHA-256 of each file in manifest.json; SHA-256 of "callgate/record/v1", a
   line feed, the 16 bytes of the salt and the record are the last 32 bytes of its entry.

WHAT A FAILURE MEANS
A file was changed, is missing or was added since the bundle was packed; or a record is not the one that was signed. It
does not say who did it. Ask for the bundle again.

WHAT IT DOES NOT SHOW
That a call was placed or not placed, that no call was placed without asking, and that the other records of the log are
not about the question. A record from which a number was erased has the part that is kept; where digits of it became x, it is as the program wrote it then. A change of several numbers at once is recorded without the numbers: a row that was stored by one
names it. A record about a row says who changed what and when, and has not every word of the row: of the wording of a consent
it has the SHA-256, which verify.mjs checks, and what a person said is as the database says today. Who changed settings and
rules is not recorded, only when they were in use. manifest.json, the files of state/ and the pages for people are not
signed: the records are. A time stamp in timestamps/, if there is one, is about the checkpoint beside it, which may have fewer
records than this one. verify.mjs checks that it is about that checkpoint, that the checkpoint is the beginning of this log, and
that the certificate in the stamp, which is for time stamps and was valid then, has signed it. It does NOT check whether that
certificate is one to trust: who has issued it, and whether it was revoked. With the certificate of the authority:
     openssl ts -verify -data timestamps/<name>.checkpoint -in timestamps/<name>.tsr -CAfile <certificate of the authority>
`
}

export function formatCertificate({ question, origin, program, size }: BundleFacts): string {
  const blank = '______________________'
  return formatPage(
    'Draft of a certification',
    `<p><b>This is a draft that the program made. It certifies nothing until a person who knows the facts has corrected, completed
and signed it. Have counsel read it.</b></p>
<p>Under Federal Rules of Evidence 902(11), 902(13) and 902(14), and 28 U.S.C. 1746.</p>
<p>I, ${blank} (name), am ${blank} (title) at ${blank} (company). I am a custodian of its records, or otherwise qualified.</p>
<p>1. 902(11): The records in this bundle (${escapeHtml(describeQuestion(question))}) were made at or near the time by, or from information
transmitted by, someone with knowledge; were kept in the course of a regularly conducted activity; and making them was a
regular practice of that activity. [Correct what is not so.]</p>
<p>2. 902(13): They were generated by callgate ${escapeHtml(program)}, an electronic process that produces an accurate result, as follows:
${blank}</p>
<p>3. 902(14): They were copied from log ${escapeHtml(origin)} of ${size} signed records, and identified by SHA-256 values as manifest.json says.</p>
<p>I declare under penalty of perjury that the foregoing is true and correct. [Outside the United States: "under the laws of
the United States of America".] Executed on ${blank} (date).</p><p>${blank} (signature)</p>`,
  )
}
