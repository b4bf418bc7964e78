import { describe, expect, it } from 'vitest'
import { buildProviderUrl } from '../../../../src/sources/remote/client/send-batch.js'

const addresses = {
  baseUrl: 'https://base.test/api',
  rpcUrl: 'https://rpc.test',
  monitorUrl: 'https://monitor.test',
  authUrl: 'https://auth.test/oauth/token',
}

describe('the address of a path', () => {
  it.each([
    ['/app/main/rpc/scrub', 'https://rpc.test/app/main/rpc/scrub'],
    ['/App/Main/RPC/pdnc', 'https://rpc.test/App/Main/RPC/pdnc'],
    ['/v1.4/reputation', 'https://monitor.test/v1.4/reputation'],
    ['/v1.4/Reputation/add', 'https://monitor.test/v1.4/Reputation/add'],
    ['/v1.5/Reputation/OneTimeScan', 'https://base.test/api/v1.5/Reputation/OneTimeScan'],
    ['/v1.4/Data/IDPremium', 'https://base.test/api/v1.4/Data/IDPremium'],
    ['/v1.5/Scrub/litigator', 'https://base.test/api/v1.5/Scrub/litigator'],
    ['/app/main/rpcother', 'https://base.test/api/app/main/rpcother'],
  ])('%s is %s', (path, address) => {
    expect(buildProviderUrl(path, addresses)).toBe(address)
  })
})
