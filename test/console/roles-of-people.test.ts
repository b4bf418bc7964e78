/** Which endpoints the console may ask for each role of people; a new endpoint has to be put here. */
import { expect, it } from 'vitest'
import { createRoute } from '../../src/api/route.js'
import { OwnApi } from '../../src/console/own-api.js'
import { createPersonCaller, nameCaller, type PersonRole } from '../../src/domain/caller.js'
import { endpoints } from '../support/walk-endpoints.js'

const api = new OwnApi(
  [...endpoints.values()].map((endpoint) =>
    createRoute(endpoint as Parameters<typeof createRoute>[0], () => 'reached'),
  ),
  {} as ConstructorParameters<typeof OwnApi>[1],
)
const become = (role: PersonRole) =>
  createPersonCaller({ accountId: 'main', id: 'person:https://id.test s', name: 'Jane', role })
const listPermitted = (role: PersonRole) =>
  [...endpoints.keys()].filter((name) => api.permits(become(role), { name })).toSorted()

/** What `pdnc`, `scrub` and `rpc-project` ask for decides which further rights they need. */
const forViewers = [
  'attempts-get',
  'auth-validate',
  'consents',
  'decision',
  'decisions',
  'decisions-stream',
  'decision-proof',
  'journal',
  'ebr-get',
  'enhanced-rnd-get',
  'enhanced-rnd-post',
  'flags-removed-summary',
  'ftp-upload-complete',
  'id-premium',
  'legal-call-times',
  'legal-entities',
  'lists',
  'projects',
  'rules',
  'litigator-get',
  'litigator-post',
  'number',
  'pdnc-get',
  'pdnc-post',
  'project-get',
  'real-time-disconnect',
  'reputation-get',
  'reputation-get-all',
  'reputation-get-post',
  'res-or-business',
  'rnd-basic-get',
  'rnd-basic-post',
  'scan-status',
  'scrub-get',
  'scrub-post',
  'time-legal',
  'time-zone-info',
  'token',
  'verification',
  'rpc-project',
  'rpc-project-get',
]
const forOperators = [
  ...forViewers.filter((name) => !name.startsWith('rpc-')),
  'preview',
  'keys',
  'pauses',
  'pause',
]
const forOfficers = [
  ...forOperators,
  'approval-verdict',
  'approvals',
  'change',
  'change-approve',
  'change-refuse',
  'changes',
  'attempts',
  'consent',
  'decide',
  'ebr',
  'ebr-remove',
  'evidence-ask',
  'evidence-bundle',
  'evidence-bundles',
  'evidence-delete',
  'evidence-file',
  'opt-out',
  'outcome',
  'permit',
  'permit-read',
  'permit-release',
  'permit-use',
  'permit-use-by-id',
  'platform-calls',
  'platform-calls-due',
  'platform-event',
  'platform-report',
  'predial-get',
  'predial-post',
  'unclear-opt-out',
  'unclear-opt-outs',
  'warm-progress',
  'warm-start',
  'warm-stop',
]
const forAdmins = [
  ...forOfficers,
  'audit',
  'key-change',
  'key-create',
  'key-revoke',
  'list-rollback',
  'project-hours',
  'live',
  'status',
  'pause-end',
  'caller-id-add',
  'caller-id-end',
  'caller-ids',
  'legal-entity-create',
  'legal-entity-update',
  'project-save',
  'project-update',
  'reputation-add',
  'reputation-remove',
  'rpc-project',
  'rpc-project-get',
  'scan-submit',
]

it.each([
  ['viewer', forViewers],
  ['operator', forOperators],
  ['officer', forOfficers],
  ['admin', forAdmins],
] as const)('are, for a %s', (role, names) => {
  expect(listPermitted(role)).toEqual([...names].toSorted())
})

it('refuses the others in words for people, before anything is read', async () => {
  const asked = api.call(become('viewer'), {
    name: 'preview',
    response: undefined as never,
  })
  await expect(asked).rejects.toThrow(
    'person Jane: the role viewer does not permit that; the roles of people are in docs/sign-in.md',
  )
})

it('never takes somebody without a key for the operator at the command line', () => {
  const person = become('viewer')
  expect(person.keyId).toBe('person:https://id.test s')
  expect(nameCaller(person)).toBe('person Jane')
  expect(nameCaller({ keyId: 'key-1' })).toBe('key key-1')
})
