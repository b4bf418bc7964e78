/** Every call of the specification with a small valid request, for what holds of all of them. */
import type { Ask } from './client.js'
import { american, dayFromToday } from './times.js'

export interface Call {
  readonly name: string
  readonly ask: Ask
}

const phone = '2125550100'
const noJob = '00000000-0000-4000-8000-000000000000'

export const calls: readonly Call[] = [
  {
    name: 'POST /v1.5/GeoScrub/IsTimeLegalToCall',
    ask: {
      path: '/v1.5/GeoScrub/IsTimeLegalToCall',
      json: { IsTimeLegalToCall: [{ PhoneNumber: phone }] },
    },
  },
  { name: 'GET /v1.5/Auth/Validate', ask: { path: '/v1.5/Auth/Validate' } },
  {
    name: 'POST /v1.4/reputation/add',
    ask: { at: 'monitor', path: '/v1.4/reputation/add', json: [{ Phone: '2125550199' }] },
  },
  {
    name: 'GET /v1.4/reputation/get',
    ask: {
      at: 'monitor',
      path: '/v1.4/reputation/get',
      query: { phoneList: phone },
      headers: { 'content-type': 'application/json' },
    },
  },
  {
    name: 'POST /v1.4/reputation/get',
    ask: { at: 'monitor', path: '/v1.4/reputation/get', json: [phone] },
  },
  {
    name: 'GET /v1.4/reputation/getAll',
    ask: {
      at: 'monitor',
      path: '/v1.4/reputation/getAll',
      headers: { 'content-type': 'application/json' },
    },
  },
  {
    name: 'POST /v1.4/reputation/remove',
    ask: { at: 'monitor', path: '/v1.4/reputation/remove', json: ['2125550199'] },
  },
  { name: 'GET /v1.5/Reputation/GetAll', ask: { path: '/v1.5/Reputation/GetAll' } },
  {
    name: 'POST /v1.5/Reputation/OneTimeScan',
    // Not https: whoever asks with a valid key by mistake starts no scan.
    ask: {
      path: '/v1.5/Reputation/OneTimeScan',
      json: { PhoneNumbers: [phone], NotificationURL: 'no-url', ScanType: 'carrier' },
    },
  },
  {
    name: 'GET /v1.5/Reputation/OneTimeScan',
    ask: { path: '/v1.5/Reputation/OneTimeScan', query: { jobId: noJob } },
  },
  {
    name: 'GET /v1.5/Reputation/FlagsRemovedSummary',
    ask: { path: '/v1.5/Reputation/FlagsRemovedSummary' },
  },
  {
    name: 'GET /v1.5/Reputation/GetAllLegalEntities',
    ask: { path: '/v1.5/Reputation/GetAllLegalEntities' },
  },
  { name: 'GET /v1.5/projects/{projectCode}', ask: { path: '/v1.5/projects/NO-SUCH-CODE' } },
  {
    name: 'POST /app/main/rpc/ebr',
    ask: {
      at: 'rpc',
      path: '/app/main/rpc/ebr',
      json: {
        ebrList: [
          {
            phoneNumber: '2125550198',
            type: 'I',
            dateOfLastContact: american(dayFromToday(-200)),
          },
        ],
      },
    },
  },
  {
    name: 'GET /app/main/rpc/pdnc',
    ask: {
      at: 'rpc',
      path: '/app/main/rpc/pdnc',
      query: { phoneList: phone, actionType: 'status' },
    },
  },
  {
    name: 'POST /v1.5/Scrub/litigator',
    ask: { path: '/v1.5/Scrub/litigator', json: { PhoneList: phone } },
  },
  {
    name: 'GET /v1.5/Data/EnhancedRND',
    ask: { path: '/v1.5/Data/EnhancedRND', query: { phoneNumber: phone, date: '2024-01-31' } },
  },
  {
    name: 'GET /app/main/rpc/scrub',
    ask: {
      at: 'rpc',
      path: '/app/main/rpc/scrub',
      query: { phoneList: phone, version: '8', output: 'json' },
    },
  },
  { name: 'GET /v1.4/Data/IDPremium', ask: { path: '/v1.4/Data/IDPremium', query: { phone } } },
  {
    name: 'GET /v1.4/Data/RealTimeDisconnect',
    ask: { path: '/v1.4/Data/RealTimeDisconnect', query: { phoneNumber: phone } },
  },
  {
    name: 'GET /v1.4/Data/ResOrBusiness',
    ask: { path: '/v1.4/Data/ResOrBusiness', query: { phone } },
  },
]

/** Well formed and nobody's. */
export const wrongKey = 'Zz0'.repeat(15).slice(0, 44)
