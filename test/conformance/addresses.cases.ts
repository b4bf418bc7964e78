import { expect } from 'vitest'
import { ask } from './support/client.js'
import { section, sentences } from './support/sentence.js'

const known = [
  {
    text: '{base_url} serves data calls whose paths start with /v1.5/',
    asks: [{ path: '/v1.5/Auth/Validate' }],
  },
  {
    text: '{base_url} serves data calls whose paths start with /v1.4/',
    asks: [{ path: '/v1.4/Data/IDPremium', query: { phone: '2125550100' } }],
  },
  {
    text: '{rpc_url} serves scrub, ebr and pdnc under /app/main/rpc/',
    asks: [
      { at: 'rpc', path: '/app/main/rpc/pdnc', query: { actionType: 'status', phoneList: '1' } },
      { at: 'rpc', path: '/app/main/rpc/ebr', json: {} },
      { at: 'rpc', path: '/app/main/rpc/scrub', query: { phoneList: '1', version: '8' } },
    ],
  },
  {
    text: '{monitor_url} serves the monitor API under /v1.4/reputation',
    asks: [{ at: 'monitor', path: '/v1.4/reputation/getAll' }],
  },
  {
    text: '{auth_url} serves the token endpoint',
    asks: [{ at: 'auth', path: '/oauth/token', form: { grant_type: 'client_credentials' } }],
  },
] as const

section('addresses', () => {
  sentences(
    known,
    ({ text }) => text,
    async ({ asks }) => {
      for (const one of asks) {
        const { status } = await ask(one)
        expect(`${one.path} ${status}`).not.toMatch(/ (404|405|5\d\d)$/)
      }
    },
  )
})
