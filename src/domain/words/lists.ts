/** Words about lists that cannot be used, and about the litigator list. `load` is a command. */
export const listWords = {
  /** `by` is the setting, and the citation of the law behind it. */
  'list-too-old':
    "the list '{list}' is too old to be used: it is as of {asOf}, more than {ageDays} days ago, and may be {maxDays} days old ({by}); load one with: {load}",
  'list-unreadable': "the list '{list}' cannot be read",
  'list-not-covering': "no list '{list}' covers area code {areaCode}; load one with: {load}",
  'no-right-to-list':
    "account {account} has no list '{list}' and no right to that of another account; load one with: {load}, or state a right: callgate lists share {list} --with {account}",
  'subscription-without-area-code':
    "the federal subscription of project '{project}' does not cover area code {areaCode}",
  'subscription-not-in-force': "the federal subscription of project '{project}' is {status}",
  'record-subscription':
    'once the registry covers it, record that with: callgate projects ftc-validation {project} --account {account}',
  'no-sandbox-list': 'the sandbox account has no list for this fictional line',
  'sandbox-without-real-numbers': 'the sandbox account has no list for this real number',
  litigator: 'linked to a known TCPA litigator',
  'no-litigator': 'not on the litigator list',
} as const
