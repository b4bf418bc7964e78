/** Words about the caller ID of a call. */

export const callerIdProblems = {
  'not-nanp': 'is not a telephone number of the North American plan',
  'area-code-not-in-use': 'has an area code that is not in use',
  premium: 'is a premium number',
} as const
/** What is wrong with a caller ID, whatever is registered. */
export type CallerIdProblem = keyof typeof callerIdProblems

const neighborAdvice =
  'and no presence there is recorded (gate.neighborCallerId); show another, or add its presence to the register'

export const callerIdWords = {
  'caller-id-problem': ({ problem }: { readonly problem: CallerIdProblem }) =>
    `what the call shows ${callerIdProblems[problem]}; show a number of your own that can be called back`,
  'caller-ids-unread': 'the registered caller IDs of the account could not be read',
  'caller-id-barred': 'what the call shows is on a do-not-originate list ({prefix} of {list})',
  'registered-caller-id': 'a registered caller ID',
  'neighbor-by-law':
    'it is of the region of the person called, and no presence there is recorded ({citation}); show another, or add its presence to the register',
  'neighbor-by-area-code': `it has the area code of the person called, ${neighborAdvice}`,
  'neighbor-by-exchange': `it has the area code and exchange of the person called, ${neighborAdvice}`,
  'caller-id-missing': 'the call shows no caller ID',
  'caller-id-unregistered': 'what the call shows is not a registered caller ID',
  'caller-id-ended': 'what the call shows ended {at}',
  'caller-id-starts': 'what the call shows may be shown from {at} on',
  'caller-id-to-show': '{number} may be shown',
  'no-caller-id-to-show':
    'the account has no registered caller ID that may be shown in this call now',
  'name-the-project': 'name the project of the call, not only the campaign',
} as const
