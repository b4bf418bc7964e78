/** Words about calls that the gate itself decides, before or after the checks. */
export const gateWords = {
  'server-shut':
    'this server is shut, since the parts of its data do not belong together; /readyz says what to do',
  'copy-by-exception': 'by a copy that is {ageSeconds} s old (edge.whileCutOff)',
  'clock-off': 'by {seconds} s',
  'purpose-needs-project':
    'name its project, not only its campaign: gate.purposes goes by projects',
  'purpose-not-among': 'gate.purposes allows {purposes} for this call, not {purpose}',
  'purpose-without-rules': 'the calling rules do not say what is asked of {purpose} calls',
  'channel-left': 'the channel left before its facts were read',
  /** Only the quotation: the field, its value, which may say something about the person, and the rule. */
  'invalid-fact': '',
} as const
