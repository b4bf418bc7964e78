import { describe, expect, it } from 'vitest'
import { createAllowList } from '../../../../src/service/webhooks/http-sender/allow-list.js'

const allow = createAllowList([
  'hooks.lan',
  'CRM.Example.',
  'bücher.example',
  'localhost',
  '10.1.0.0/16',
  '192.168.7.9',
  'fd12:3456::/32',
  '::1',
  '172.16.5.4/12',
])

describe('the allow-list', () => {
  it.each([
    ['anybody', '8.8.8.8'],
    ['hooks.lan', '10.9.9.9'],
    ['hooks.lan', '127.0.0.1'],
    ['hooks.lan', '::ffff:10.9.9.9'],
    ['crm.example', '169.254.169.254'],
    ['xn--bcher-kva.example', '10.9.9.9'],
    ['anybody', '10.1.0.0'],
    ['anybody', '10.1.255.255'],
    ['anybody', '::ffff:10.1.2.3'],
    ['anybody', '64:ff9b::a01:203'],
    ['anybody', '192.168.7.9'],
    ['anybody', 'fd12:3456::9'],
    ['anybody', '::1'],
    ['anybody', '0:0:0:0:0:0:0:1'],
    ['anybody', '172.31.0.1'],
  ])('permits %s at %s', (host, address) => {
    expect(allow.isAllowed(host, address)).toBe(true)
  })

  it.each([
    ['anybody', '10.0.255.255'],
    ['anybody', '10.2.0.0'],
    ['anybody', '192.168.7.8'],
    ['anybody', '::ffff:192.168.7.8'],
    ['anybody', 'fd12:3457::9'],
    ['anybody', '::2'],
    ['anybody', '127.0.0.1'],
    ['anybody', '169.254.169.254'],
    ['sub.hooks.lan', '10.9.9.9'],
    ['hooks.lan.example', '10.9.9.9'],
    ['xhooks.lan', '10.9.9.9'],
    ['anybody', ''],
  ])('does not permit %s at %s', (host, address) => {
    expect(allow.isAllowed(host, address)).toBe(false)
  })

  it('when empty permits public addresses alone', () => {
    const none = createAllowList([])
    expect([none.isAllowed('a', '8.8.8.8'), none.isAllowed('a', '10.0.0.1')]).toEqual([true, false])
  })

  it.each([
    'hooks.lan/24',
    '10.0.0.0/33',
    'fd00::/129',
    '10.0.0/8',
    '10.0.0.0/',
    '/8',
    '10.0.0.0/8/8',
    '127.1',
    '2130706433',
    '1.2.3.4.5',
    'ab:cd',
    'a b',
    '',
  ])("refuses the entry '%s'", (entry) => {
    expect(() => createAllowList([entry])).toThrow(`webhooks.allow '${entry}'`)
  })
})
