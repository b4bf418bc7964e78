/** Words about questions that were not answered. What the source says of the cause, or the client that asked it, follows as a quotation. */
export const sourceWords = {
  'source-failed': 'the source failed',
  deadline: 'no answer in time',
  'list-missing': 'the list is missing',
  'list-stale': 'the list is too old',
  'list-unusable': 'the list cannot be used',
  'not-understood': 'the answer could not be understood',
  refused: 'the source refuses the key',
  'bad-question': 'the source refuses the question',
  'rate-limited': 'a rate limit was reached',
  'budget-spent': 'the budget of the account is used up',
  'budget-reserved': 'the rest of the budget of the account is for calls',
  'circuit-open': 'the source is not asked after repeated failures',
  overloaded: 'too many questions are waiting',
  'not-askable': 'the source cannot answer this question',
  'not-answered-within': 'not answered within {ms} ms',
  /** `setting` is that of the provider, and `owner` the account whose login others may be given. */
  'no-login':
    'account {account} has no login for provider {provider} and no right to that of account {owner}; set {setting}.accounts.{account}, or: callgate lists share provider --with {account} --because <text>',
  'rights-unread': 'the rights of the account cannot be read',
  'other-source-late': 'no answer in time to complement the denial of the other source',
  'not-renewed': '{by} gives no newer answer',
  'rule-failed': 'a rule could not be applied',
} as const
