import { describe, expect, it } from 'vitest'
import {
  isPublicAddress,
  normalizeAddress,
} from '../../../../src/service/webhooks/http-sender/public-address.js'
import { randomFrom } from '../../../support/hostile-requests.js'

describe('an address', () => {
  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '168.63.129.15',
    '168.63.129.17',
    '169.253.255.255',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.0',
    '192.0.3.0',
    '192.88.98.255',
    '192.88.100.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '198.51.99.255',
    '203.0.112.255',
    '203.0.114.0',
    '223.255.255.255',
    '2000::',
    '2606:4700:4700::1111',
    '2001:200::',
    '2001:db7:ffff::',
    '2001:db9::',
    '2003::',
    '2a00:1450:4001:81b::200e',
    '3ffe:ffff::',
    '3fff:1000::',
    '2001:4860:4860::8888',
    '::ffff:8.8.8.8',
    '::ffff:808:808',
    '64:ff9b::808:808',
    '64:ff9b::8.8.8.8',
  ])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })

  it.each([
    '0.0.0.0',
    '0.255.255.255',
    '10.0.0.0',
    '10.255.255.255',
    '100.64.0.0',
    '100.100.100.200',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.255',
    '168.63.129.16',
    '169.254.0.0',
    '169.254.169.254',
    '169.254.255.255',
    '172.16.0.0',
    '172.31.255.255',
    '192.0.0.0',
    '192.0.0.192',
    '192.0.0.255',
    '192.0.2.0',
    '192.0.2.255',
    '192.88.99.0',
    '192.88.99.255',
    '192.168.0.0',
    '192.168.255.255',
    '198.18.0.0',
    '198.19.255.255',
    '198.51.100.0',
    '198.51.100.255',
    '203.0.113.0',
    '203.0.113.255',
    '224.0.0.0',
    '239.255.255.255',
    '240.0.0.0',
    '255.255.255.254',
    '255.255.255.255',
    '::',
    '::1',
    '::2',
    '::7f00:1',
    '::127.0.0.1',
    '::8.8.8.8',
    '::ffff:0:8.8.8.8',
    '100::1',
    '100:0:0:1::1',
    '64:ff9a::808:808',
    '64:ff9b:1::808:808',
    '64:ff9b::1:808:808',
    '1fff:ffff::1',
    '2001::1',
    '2001:0:53aa:64c::',
    '2001:1::1',
    '2001:2::1',
    '2001:10::1',
    ...[
      '2001:20::1',
      '2001:1ff:ffff::',
      '2001:db8::1',
      '2001:db8:ffff::',
      '2002::',
      '2002:808:808::',
    ],
    ...[
      '2002:7f00:1::',
      '2002:a00:1::1',
      '2002:ffff::',
      '3fff::1',
      '3fff:fff::',
      '4000::',
      '5f00::1',
    ],
    'fc00::1',
    'fd00:ec2::254',
    'fdff::',
    'fe80::1',
    'fe80::1%eth0',
    'febf::',
    'fec0::1',
    ...[
      'ff02::1',
      'ffff::',
      '::1%lo',
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      '::ffff:169.254.169.254',
    ],
    '::FFFF:10.0.0.1',
    '0:0:0:0:0:ffff:a00:1',
    '64:ff9b::127.0.0.1',
    '64:ff9b::a00:1',
    '64:ff9b::a9fe:a9fe',
    '::ffff:0.0.0.0',
    '::ffff:255.255.255.255',
    '',
    'localhost',
    '8.8.8',
    '08.8.8.8',
    '8.8.8.8.',
    '[::1]',
    '0x8.8.8.8',
    '2606::4700::1',
  ])('%s is not public', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })

  it.each([
    ['::ffff:7f00:1', '127.0.0.1'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::ffff:0:0', '0.0.0.0'],
    ['::ffff:0:1', '0.0.0.1'],
    ['::FFFF:FFFF:0', '255.255.0.0'],
    ['64:ff9b::', '0.0.0.0'],
    ['64:ff9b::102:304', '1.2.3.4'],
    ['::ffff:10.0.0.1%eth0', '10.0.0.1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['2606:4700::1', '2606:4700::1'],
    ['1.2.3.4', '1.2.3.4'],
  ])('%s reaches %s', (address, reached) => {
    expect(normalizeAddress(address)).toBe(reached)
  })
})

/** The same ranges as arithmetic: first and last number of each. */
const ranges = [
  ...[
    [0x00000000, 0x00ffffff],
    [0x0a000000, 0x0affffff],
    [0x64400000, 0x647fffff],
  ],
  ...[
    [0x7f000000, 0x7fffffff],
    [0xa83f8110, 0xa83f8110],
    [0xa9fe0000, 0xa9feffff],
  ],
  ...[
    [0xac100000, 0xac1fffff],
    [0xc0000000, 0xc00000ff],
    [0xc0000200, 0xc00002ff],
  ],
  ...[
    [0xc0586300, 0xc05863ff],
    [0xc0a80000, 0xc0a8ffff],
    [0xc6120000, 0xc613ffff],
  ],
  ...[
    [0xc6336400, 0xc63364ff],
    [0xcb007100, 0xcb0071ff],
    [0xe0000000, 0xffffffff],
  ],
] as const

describe('every spelling of a number', () => {
  it('is judged like the number: dotted, mapped, translated', () => {
    const random = randomFrom(6_890)
    const near = ranges.flatMap(([first, last]) => [first - 1, first, last, last + 1])
    const numbers = [
      ...near.filter((number) => number >= 0 && number <= 0xffffffff),
      ...Array.from({ length: 2_000 }, () => Math.floor(random() * 2 ** 32)),
    ]
    const wrong = numbers.flatMap((number) => {
      const isSpecial = ranges.some(([first, last]) => number >= first && number <= last)
      const dotted = [24, 16, 8, 0].map((bits) => (number >>> bits) & 0xff).join('.')
      const hex = `${(number >>> 16).toString(16)}:${(number & 0xffff).toString(16)}`
      const spellings = [dotted, `::ffff:${dotted}`, `::ffff:${hex}`, `64:ff9b::${hex}`]
      return spellings.filter((spelling) => isPublicAddress(spelling) === isSpecial)
    })
    expect(wrong).toEqual([])
  })

  it('of IPv6 is public only within 2000::/3 and outside its special ranges', () => {
    const random = randomFrom(4_291)
    const group = () => Math.floor(random() * 65_536)
    const wrong: string[] = []
    for (let drawn = 0; drawn < 20_000; drawn += 1) {
      const first = drawn % 2 === 0 ? group() : (0x2000 + Math.floor(random() * 3)) | 0
      const second = drawn % 3 === 0 ? Math.floor(random() * 0x400) : group()
      const address = [first, second, group(), group(), group(), group(), group(), group()]
        .map((number) => number.toString(16))
        .join(':')
      const isSpecial =
        (first === 0x2001 && second < 0x200) ||
        (first === 0x2001 && second === 0xdb8) ||
        first === 0x2002 ||
        (first === 0x3fff && second < 0x1000)
      const isPublic = first >= 0x2000 && first <= 0x3fff && !isSpecial
      if (isPublicAddress(address) !== isPublic) wrong.push(address)
    }
    expect(wrong).toEqual([])
  })
})
