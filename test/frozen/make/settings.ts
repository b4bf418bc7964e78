/** Settings that operators choose, one world with each. */
export const edges = {
  permits: {
    issuer: 'https://gate.example',
    edges: { 'edge-a': { accounts: ['main', 'sandbox'] } },
  },
}

const unknown = { onUnknown: 'allow', reason: 'an outage', until: '2028-01-01T00:00:00Z' }
const setBy = 'Ada Nowak'

/** Each is merged over what the world needs. */
export const ownSettings: readonly object[] = [
  {},
  {},
  {},
  { gate: { strictestPlace: { manual: true, autodialed: true, ai: false } } },
  { gate: { aiConsentEvidence: 'recorded', neighborCallerId: 'block' } },
  { gate: { recordedVoiceWindows: false, projectMayWiden: true, nonNanp: 'allow' } },
  {
    gate: {
      purposes: [
        {
          account: 'sandbox',
          project: 'CLINIC',
          purpose: 'healthcare',
          requestsMay: ['emergency'],
          setBy,
        },
        { account: 'sandbox', project: 'DEBT', purpose: 'debt-collection', setBy },
        { account: 'sandbox', project: 'GIVE', purpose: 'charity', setBy },
        {
          purpose: 'telemarketing',
          requestsMay: ['informational', 'political', 'healthcare'],
          setBy,
        },
      ],
    },
  },
  {
    gate: {
      exceptions: [
        { id: 'or-customer', decidedBy: setBy, on: '2026-01-02' },
        { id: 'ut-consent', decidedBy: setBy, on: '2026-01-02' },
      ],
    },
  },
  {
    gate: {
      houseLimits: [
        { calls: 2, seconds: 3600 },
        { calls: 1, seconds: 30, project: 'CLINIC' },
      ],
      subjects: [{ subjects: ['solar', 'roof'] }],
    },
  },
  { policy: { permission: { mode: 'shadow' }, callerId: { mode: 'shadow' } } },
  { policy: { callingHours: { mode: 'shadow' }, reassigned: { mode: 'shadow' } } },
  { policy: { litigator: unknown, internalDnc: unknown, reassigned: unknown } },
  { policy: { permission: unknown, callingHours: unknown, litigator: { mode: 'shadow' } } },
  { gate: { shadow: { accounts: ['sandbox'] }, blockValidMs: 86_400_000 } },
  {
    callingHours: {
      emergencies: [
        {
          region: 'NY',
          from: '2026-11-20T00:00:00Z',
          until: '2027-01-10T00:00:00Z',
          name: 'storm',
        },
        {
          region: 'LA',
          from: '2026-11-01T00:00:00Z',
          until: '2027-12-01T00:00:00Z',
          name: 'flood',
        },
      ],
      proclaimedDays: [{ region: 'FL', date: '2026-12-07', name: 'a day of mourning' }],
    },
  },
]

/** What a provider's callers choose; purposes and exceptions need our own facts. */
export const vendorSettings: readonly object[] = [
  {},
  {},
  {},
  { gate: { strictestPlace: { manual: true, autodialed: true, ai: false } } },
  { gate: { neighborCallerId: 'block', nonNanp: 'allow' } },
  {
    policy: {
      litigator: unknown,
      internalDnc: unknown,
      permission: unknown,
      callingHours: unknown,
    },
  },
  { policy: { permission: { mode: 'shadow' }, litigator: unknown } },
  { policy: { callingHours: { mode: 'shadow' }, internalDnc: { mode: 'shadow' } } },
  {
    gate: { cache: { allowMs: 60_000, blockMs: 60_000 } },
    policy: {
      litigator: { staleForMs: 600_000 },
      internalDnc: { staleForMs: 600_000 },
      permission: { staleForMs: 600_000 },
      callingHours: { staleForMs: 600_000 },
    },
  },
  { gate: { houseLimits: [{ calls: 2, seconds: 3600 }] } },
]

/** Members of both, those of the second where both have one that is no object. */
export function merge(one: object, other: object): object {
  const merged: Record<string, unknown> = { ...one }
  for (const [name, value] of Object.entries(other)) {
    const before = merged[name]
    const areObjects = isObject(before) && isObject(value)
    merged[name] = areObjects ? merge(before, value) : value
  }
  return merged
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
