/**
 * The one list of the checks, and of the reasons for which calls are allowed and blocked. Their names in settings, API, metrics, console
 * and documents, and the rank of reasons, come from here.
 */

interface CheckEntry {
  /** Its name in the settings, below `policy`. */
  readonly setting: string
  /** In the description of its settings: "the ... check". */
  readonly about: string
  /** Its heading in the console. */
  readonly title: string
  /**
   * What it judges: the `answer` of a source, which may be cached; a `count` of the calls before; an entry of the account's `register`; or
   * a `look-up`, whose answers end with the release of their data.
   */
  readonly judges: 'answer' | 'count' | 'register' | 'look-up'
}

/**
 * `attempts` is of the calls that a frequency limit counts, `caller-id` of those whose caller ID is judged, `reassigned` of those that
 * rest on a record, `abandonment` of those of campaigns with reported answers; the others are of every call.
 */
// biome-ignore format: a table is read by its rows
export const checks = {
  litigator: { setting: 'litigator', about: 'litigator', title: 'Known litigators', judges: 'answer' },
  'internal-dnc': { setting: 'internalDnc', about: 'internal list', title: 'Opt-outs (internal do-not-call list)', judges: 'answer' },
  permission: { setting: 'permission', about: 'permission', title: 'Consent and do-not-call lists', judges: 'answer' },
  'calling-hours': { setting: 'callingHours', about: 'calling hours', title: 'Calling hours', judges: 'answer' },
  attempts: { setting: 'attempts', about: 'attempts', title: 'How often the person was called', judges: 'count' },
  'caller-id': { setting: 'callerId', about: 'caller ID', title: 'Caller ID', judges: 'register' },
  reassigned: { setting: 'reassigned', about: 'reassigned number', title: 'Reassigned numbers', judges: 'look-up' },
  abandonment: { setting: 'abandonment', about: 'abandoned calls', title: 'Abandoned calls', judges: 'count' },
} as const satisfies Readonly<Record<string, CheckEntry>>
export type CheckName = keyof typeof checks
export const checkNames = Object.keys(checks) as readonly CheckName[]
/** The name of a check in the settings. */
export type CheckSetting = (typeof checks)[CheckName]['setting']

/** `mandate` is about the key that asks, and about pauses; no policy changes it. */
export type FindingName = CheckName | 'mandate'

/** Their findings change with each call that is placed. */
export const countedChecks: ReadonlySet<string> = new Set([
  ...checkNames.filter((name) => checks[name].judges === 'count'),
  'mandate',
])

/**
 * Who gives a reason: the findings that deny a call for it; `any-check`, a finding that passes, or one that is unknown; `number`, what was
 * dialed; `purpose`, what the call is for; `gate`, the state of the gate itself, before or after the checks.
 */
type ReasonGiver = FindingName | 'any-check' | 'number' | 'purpose' | 'gate'

/**
 * - `allow`;
 * - `rule`: something forbids the call;
 * - `time`: the same, and it ends by itself with time;
 * - `list`: an imported list cannot be used;
 * - `request`: the request cannot be understood;
 * - `fault`: it says nothing about the call.
 */
type ReasonKind = 'allow' | 'rule' | 'time' | 'list' | 'request' | 'fault'

export type Reason = {
  readonly by: readonly ReasonGiver[]
  /** In the console. */
  readonly name: string
  /** In messages and documents. */
  readonly text: string
  /** What a user does about a block, where it does not follow from the reason itself. */
  readonly remedy?: string
  // `fix` is what an operator does about it.
} & (
  | { readonly kind: 'fault'; readonly fix: string }
  | { readonly kind: Exclude<ReasonKind, 'fault'> }
)

/** In the order of rank: of several denying findings, the first reason here becomes the decision's. */
// biome-ignore format: a table is read by its rows, and their order is the rank
const list = {
  'not-recorded': { by: ['gate'], kind: 'fault', name: 'Could not be recorded',
    text: 'the decision could not be written to disk, so the call is blocked',
    fix: 'check the disk of the journal: df -h, iostat -x, dmesg' },
  'clock-behind': { by: ['gate'], kind: 'fault', name: 'Clock is behind',
    text: 'the clock is behind the newest stored record, so times are unreliable',
    fix: 'check the time with timedatectl' },
  'clock-ahead': { by: ['gate'], kind: 'fault', name: 'Clock is ahead',
    text: 'the clock is ahead of the clock of the database, so times are unreliable',
    fix: 'check the time with timedatectl' },
  'not-current': { by: ['gate'], kind: 'fault', name: 'Server is not up to date',
    text: 'this server does not know what others have stored in the last moments, so the call is blocked',
    remedy: 'Try again in a moment.',
    fix: 'check the line to the database' },
  expired: { by: ['gate'], kind: 'fault', name: 'Answer came too late',
    text: 'the facts expired before the decision could be returned',
    fix: 'check the clocks of this machine and of the provider' },
  'ai-paused': { by: ['mandate'], kind: 'rule', name: 'AI calls are paused',
    text: 'all calls of AI agents are paused, of the account or on this installation' },
  'key-paused': { by: ['mandate'], kind: 'rule', name: 'Key is paused',
    text: 'an operator has paused the key' },
  'key-kind': { by: ['mandate'], kind: 'rule', name: 'Key: kind of call not allowed',
    text: 'the key may not ask for this kind of call' },
  'key-project': { by: ['mandate'], kind: 'rule', name: 'Key: project not allowed',
    text: 'the key may not ask for calls of this project or campaign' },
  'key-caller-id': { by: ['mandate'], kind: 'rule', name: 'Key: caller ID not allowed',
    text: 'the key may not ask for calls from this caller ID' },
  'key-region': { by: ['mandate'], kind: 'rule', name: 'Key: state or province not allowed',
    text: 'the key may not ask for calls to this state or province' },
  'key-concurrent': { by: ['mandate'], kind: 'rule', name: 'Key: too many calls at a time',
    text: 'the key has reached its limit of concurrent calls' },
  'key-attempts': { by: ['mandate'], kind: 'time', name: 'Key: too many calls in this time',
    text: 'the key has used up its calls for this period' },
  'key-cool-down': { by: ['mandate'], kind: 'time', name: 'Key: same number too soon',
    text: 'the key called this number too recently' },
  'approval-needed': { by: ['mandate'], kind: 'rule', name: 'Approval needed',
    text: 'a person must approve this call of the key first',
    remedy: 'See the status of the request on page Approvals.' },
  'permit-too-short': { by: ['gate'], kind: 'rule', name: 'Too little time left to call',
    text: 'the call may be placed for less than 5 seconds, too short for a permit' },
  'invalid-request': { by: ['gate'], kind: 'request', name: 'Invalid request',
    text: 'the facts of the call are invalid, so it was not checked' },
  'invalid-number': { by: ['number', 'permission'], kind: 'rule', name: 'Not a telephone number',
    text: 'the dialed text is not a telephone number' },
  'foreign-number': { by: ['number', 'mandate'], kind: 'rule', name: 'Number of another country',
    text: 'the number belongs to another country; policy blocks those' },
  extension: { by: ['number'], kind: 'rule', name: 'Internal extension',
    text: 'the digits are an internal extension; policy blocks those' },
  litigator: { by: ['litigator', 'permission'], kind: 'rule', name: 'Known litigator',
    text: 'the number is linked to a known TCPA litigator; consent does not override this',
    remedy: 'Do not call this number: a consent does not change that.' },
  'consent-revoked': { by: ['internal-dnc', 'permission'], kind: 'rule', name: 'Consent revoked',
    text: 'an opt-out is newer than the permission on file',
    remedy: 'Do not call, unless the person gives a new consent after the opt-out; store it on page Consents.' },
  'internal-dnc': { by: ['internal-dnc', 'permission'], kind: 'rule', name: 'Opted out',
    text: 'the number is on the internal do-not-call list',
    remedy: 'Do not call, unless the person asks for calls again; then end the opt-out on page Opt-outs.' },
  'national-dnc': { by: ['permission'], kind: 'rule', name: 'On a national do-not-call list',
    text: 'the number is on a national do-not-call list and no exemption applies',
    remedy: 'Do not call, unless the person has given consent; then store it on page Consents.' },
  'state-dnc': { by: ['permission'], kind: 'rule', name: 'On a state do-not-call list',
    text: 'the number is on a state do-not-call list and no exemption applies',
    remedy: 'Do not call, unless the person has given consent; then store it on page Consents.' },
  'wireless-state': { by: ['permission'], kind: 'rule', name: 'State bans sales calls to wireless',
    text: 'the state prohibits sales calls to wireless numbers' },
  'list-not-covering': { by: ['permission'], kind: 'rule', name: 'No list covers the area code',
    text: 'no imported national list covers this area code, so the number is not known to be clean',
    remedy: 'Import a list for this area code.' },
  'list-stale': { by: ['permission', 'any-check'], kind: 'list', name: 'List is too old',
    text: 'an imported list is too old to be used, so the number is not known to be clean',
    remedy: 'Import a newer list; page Lists shows the age of each.' },
  'list-unreadable': { by: ['permission', 'any-check'], kind: 'list', name: 'List cannot be read',
    text: 'an imported list cannot be read, so the number is not known to be clean',
    remedy: 'See the problem on page Lists; import the list again if its file is damaged.' },
  'toll-free': { by: ['calling-hours'], kind: 'rule', name: 'Toll-free number',
    text: 'toll-free numbers are not called' },
  'unknown-prefix': { by: ['permission', 'calling-hours'], kind: 'rule', name: 'Not in service',
    text: 'the area code or exchange is not in service' },
  'no-consent': { by: ['permission'], kind: 'rule', name: 'No consent',
    text: 'this kind of call requires a consent that is not on file',
    remedy: 'If the person has consented to such calls, store the consent with its wording on page Consents.' },
  'consent-unproven': { by: ['permission'], kind: 'rule', name: 'Consent is not proven',
    text: 'there is less evidence of the consent than gate.aiConsentEvidence requires',
    remedy: 'Store the consent with what shows it on page Consents.' },
  reassigned: { by: ['reassigned'], kind: 'rule', name: 'Number was reassigned',
    text: 'the number has been disconnected since the consent or the last contact' },
  disconnected: { by: ['reassigned'], kind: 'rule', name: 'Line is out of service',
    text: 'the line is out of service' },
  'not-permitted': { by: ['permission'], kind: 'rule', name: 'Scrub result forbids the call',
    text: 'the scrub result does not permit this kind of call' },
  'unknown-project': { by: ['calling-hours'], kind: 'rule', name: 'No such project or campaign',
    text: 'the account has no such project or campaign' },
  'purpose-not-allowed': { by: ['purpose'], kind: 'rule', name: 'Purpose is not allowed',
    text: 'calls of this project and campaign may not be for what the request says' },
  'caller-id-invalid': { by: ['caller-id'], kind: 'rule', name: 'Caller ID: not a number to show',
    text: 'the caller ID is not a number that may be shown' },
  'caller-id-do-not-originate': { by: ['caller-id'], kind: 'rule', name: 'Caller ID: nobody may show it',
    text: 'the caller ID is on a do-not-originate list: nobody may show it' },
  'caller-id-not-owned': { by: ['caller-id'], kind: 'rule', name: 'Caller ID: not registered',
    text: 'the caller ID is not registered for this account and project' },
  'caller-id-expired': { by: ['caller-id'], kind: 'rule', name: 'Caller ID: not valid now',
    text: 'the caller ID is registered, but not for this time' },
  'caller-id-missing': { by: ['caller-id'], kind: 'rule', name: 'Caller ID: missing',
    text: 'the call shows no caller ID, and automated calls must show a registered one' },
  'caller-id-neighbor': { by: ['caller-id'], kind: 'rule', name: 'Caller ID: local number without local presence',
    text: 'the caller ID is local to the person called, and the account has no recorded presence there' },
  'restricted-day': { by: ['permission', 'calling-hours'], kind: 'time', name: 'No calls on this day',
    text: 'calls are prohibited on this local date' },
  'outside-calling-hours': { by: ['permission', 'calling-hours'], kind: 'time', name: 'Outside calling hours',
    text: 'the local time is outside the lawful calling hours' },
  'too-many-attempts': { by: ['attempts'], kind: 'time', name: 'Called too often',
    text: 'the person has been called as often as the law or your own limits allow',
    remedy: 'See on page Attempts when calls are allowed again.' },
  'abandonment-rate': { by: ['abandonment'], kind: 'time', name: 'Too many abandoned calls',
    text: 'too many answered calls of the campaign were abandoned in the period' },
  'unknown-subject': { by: ['attempts'], kind: 'rule', name: 'Unknown subject',
    text: 'the account has no such subject' },
  'list-missing': { by: ['any-check'], kind: 'list', name: 'A list is missing',
    text: 'a list this check needs has not been imported',
    remedy: 'Import the list.' },
  'check-unanswered': { by: ['any-check'], kind: 'fault', name: 'A check had no answer',
    text: 'a check could not be answered, so the call is blocked',
    remedy: 'Try again later; the source did not answer.',
    fix: 'check what did not answer: the provider and its key, or the database' },
  overloaded: { by: ['gate'], kind: 'fault', name: 'Server overloaded',
    text: 'the gate is overloaded',
    remedy: 'Try again in a moment.',
    fix: 'send it fewer calls, or check what uses the processors: top' },
  'policy-allows': { by: ['number'], kind: 'allow', name: 'Allowed unchecked by policy',
    text: 'policy allows extensions and numbers of other countries unchecked' },
  'service-code': { by: ['number'], kind: 'allow', name: 'Emergency or service code',
    text: 'emergency and service codes are always allowed' },
  permitted: { by: ['any-check'], kind: 'allow', name: 'All checks passed',
    text: 'every check passed' },
} as const satisfies Readonly<Record<string, Reason>>
/** Also a label value of metrics, and part of a pre-dial reply. */
export type ReasonCode = keyof typeof list
export const reasons: Readonly<Record<ReasonCode, Reason>> = list
/** By rank. */
export const reasonCodes = Object.keys(reasons) as readonly ReasonCode[]

/** Reasons that say nothing about the call. */
export const undecidedReasons: ReadonlySet<ReasonCode> = new Set(
  reasonCodes.filter((code) => reasons[code].kind === 'fault'),
)
