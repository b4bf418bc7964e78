/** Addresses that customers should not be able to make this machine send to, however they are spelt. */
import { describe, expect, it } from 'vitest'
import { failureOf, notice, openSender } from './receivers.js'

const opened: string[] = []
const asked: string[] = []
const guarded = openSender({
  allow: [],
  resolveHost: async (host) => {
    asked.push(host)
    return ['8.8.8.8']
  },
  openSocket: () => {
    opened.push('a socket')
    throw new Error('no test goes out')
  },
})

const notPublic: readonly (readonly [url: string, what: string])[] = [
  ['http://127.0.0.1/', 'this machine'],
  ['https://127.0.0.1:8480/v1/decisions', 'this machine, another port'],
  ['http://127.8.9.10/', 'all of 127/8 is this machine'],
  ['http://2130706433/', 'decimal 127.0.0.1'],
  ['http://017700000001/', 'octal 127.0.0.1'],
  ['http://0x7f000001/', 'hexadecimal 127.0.0.1'],
  ['http://0X7F.1/', 'mixed and short'],
  ['http://0177.0.0.1/', 'octal part'],
  ['http://0x7f.0x0.0x0.0x1/', 'hexadecimal parts'],
  ['http://127.1/', 'short 127.0.0.1'],
  ['http://127.0.1/', 'short 127.0.0.1'],
  ['http://0/', 'short 0.0.0.0'],
  ['http://0.0.0.0:22/', 'this machine on many systems'],
  ['http://127.0.0.1./', 'last dot'],
  ['http://127。0。0。1/', 'ideographic dots'],
  ['http://127．0．0．1/', 'full-width dots'],
  ['http://１２７.0.0.1/', 'full-width digits'],
  ['http://①②⑦.0.0.1/', 'circled digits'],
  ['http://%31%32%37.0.0.1/', 'percent-encoded digits'],
  ['http://127%2e0%2e0%2e1/', 'percent-encoded dots'],
  ['http://localhost/', 'this machine by name'],
  ['http://LOCALHOST:8480/', 'upper case'],
  ['http://localhost./', 'last dot'],
  ['http://ｌｏｃａｌｈｏｓｔ/', 'full-width letters'],
  ['http://loc%61lhost/', 'percent-encoded letter'],
  ['http://lo\u00adcalhost/', 'soft hyphen, which is dropped'],
  ['http://anything.localhost/', 'below localhost'],
  ['http://a.b.LocalHost./', 'below localhost, mixed case, last dot'],
  ['http://10.0.0.1/', 'private'],
  ['http://10.255.255.255/', 'private'],
  ['http://172.16.0.1/', 'private'],
  ['http://172.31.255.255/', 'private'],
  ['http://192.168.1.1/', 'private'],
  ['http://0xc0.0xa8.1.1/', 'private in hexadecimal'],
  ['http://3232235777/', '192.168.1.1 in decimal'],
  ['http://100.64.0.1/', 'of a carrier'],
  ['http://100.100.100.200/latest/meta-data/', 'metadata of a cloud'],
  ['http://169.254.169.254/latest/meta-data/', 'metadata of most clouds'],
  ['http://2852039166/', 'the same in decimal'],
  ['http://0xA9.0xFE.0xA9.0xFE/', 'the same in hexadecimal'],
  ['http://0251.0376.0251.0376/', 'the same in octal'],
  ['http://169.254.43518/', 'the same, short'],
  ['http://[::ffff:169.254.169.254]/', 'the same, mapped'],
  ['http://[::ffff:a9fe:a9fe]/', 'the same, mapped, in hexadecimal'],
  ['http://[64:ff9b::169.254.169.254]/', 'the same, translated'],
  ['http://[fd00:ec2::254]/', 'metadata over IPv6'],
  ['http://168.63.129.16/', 'host of a cloud machine'],
  ['http://192.0.0.1/', 'protocol assignments'],
  ['http://192.0.2.1/', 'documentation'],
  ['http://198.51.100.1/', 'documentation'],
  ['http://203.0.113.1/', 'documentation'],
  ['http://192.88.99.1/', 'relay of 6to4'],
  ['http://198.18.0.1/', 'benchmarks'],
  ['http://224.0.0.1/', 'multicast'],
  ['http://240.0.0.1/', 'reserved'],
  ['http://255.255.255.255/', 'broadcast'],
  ['http://[::]/', 'unspecified'],
  ['http://[::1]/', 'this machine'],
  ['http://[0:0:0:0:0:0:0:1]:8480/', 'this machine, unshortened'],
  ['http://[0000::0001]/', 'this machine, with zeros'],
  ['http://[::127.0.0.1]/', 'IPv4-compatible'],
  ['http://[::7f00:1]/', 'IPv4-compatible'],
  ['http://[::ffff:127.0.0.1]/', 'IPv4-mapped'],
  ['http://[::FFFF:7F00:1]/', 'IPv4-mapped'],
  ['http://[::ffff:0:127.0.0.1]/', 'IPv4-translated'],
  ['http://[64:ff9b::7f00:1]/', 'NAT64'],
  ['http://[64:ff9b:1::7f00:1]/', 'local NAT64'],
  ['http://[64:ff9b:1::808:808]/', 'local NAT64, whatever is inside'],
  ['http://[2002:7f00:1::]/', '6to4 of this machine'],
  ['http://[2002:a9fe:a9fe::1]/', '6to4 of metadata'],
  ['http://[2001:0:53aa:64c:0:5c5f:80ff:fffe]/', 'Teredo'],
  ['http://[fc00::1]/', 'unique local'],
  ['http://[fdab:cdef::1]/', 'unique local'],
  ['http://[fe80::1]/', 'link-local'],
  ['http://[fec0::1]/', 'site-local'],
  ['http://[ff02::1]/', 'multicast'],
  ['http://[2001:db8::1]/', 'documentation'],
  ['http://[100::1]/', 'discard'],
  ['http://[5f00::1]/', 'segment routing'],
  ['http://[4000::1]/', 'not given out'],
]

const noAddress: readonly (readonly [url: string, what: string])[] = [
  ['', 'nothing'],
  ['hooks.example', 'no scheme'],
  ['//hooks.example/', 'no scheme'],
  ['/path', 'a path'],
  ['ftp://hooks.example/', 'scheme'],
  ['file:///etc/passwd', 'scheme'],
  ['gopher://127.0.0.1:6379/_SET', 'scheme'],
  ['data:text/plain,hello', 'scheme'],
  ['javascript:alert(1)', 'scheme'],
  ['ws://hooks.example/', 'scheme'],
  ['http+unix://%2Fvar%2Frun%2Fdocker.sock/', 'scheme'],
  ['jar:http://hooks.example/!/', 'scheme'],
  ['http:hooks.example', 'no slashes'],
  ['http:/hooks.example', 'one slash'],
  ['http:///hooks.example', 'three slashes'],
  ['http:\\\\hooks.example\\', 'backslashes'],
  ['http://hooks.example\\@127.0.0.1/', 'backslash before an at'],
  ['http://hooks.example/a\\b', 'backslash in the path'],
  ['http://hooks.example/a b', 'blank'],
  ['http://hooks.example/\r\nHost: 127.0.0.1', 'line end'],
  ['http://hooks.example/\u0000', 'control character'],
  ['http://hooks\t.example/', 'tab in the name, which some drop'],
  [' http://hooks.example/', 'blank before'],
  ['http://hooks.example/ ', 'blank after'],
  ['http://hooks.example/\u00a0', 'no-break space after'],
  ['http://user@hooks.example/', 'user'],
  ['http://user:password@hooks.example/', 'user and password'],
  ['http://:@hooks.example/', 'empty user and password'],
  ['http://@hooks.example/', 'empty user'],
  ['http://8.8.8.8@127.0.0.1/', 'user that looks like a host'],
  ['http://127.0.0.1%23@hooks.example/', 'encoded hash before an at'],
  ['http://hooks.example:80@127.0.0.1/', 'user and password that look like a host and a port'],
  ['http://', 'no host'],
  ['http://?a', 'no host'],
  ['http://:80/', 'no host'],
  ['http://./', 'dot alone'],
  ['http://../', 'dots alone'],
  ['http://hooks..example/', 'empty label'],
  ['http://localhost../', 'two dots at the end'],
  ['http://.localhost/', 'empty label'],
  ['http://-hooks.example/', 'hyphen first'],
  ['http://hooks-.example/', 'hyphen last'],
  ['http://hooks!.example/', 'character'],
  ['http://hooks*.example/', 'character'],
  ["http://hooks'.example/", 'character'],
  ['http://hooks%00.example/', 'encoded control character'],
  ['http://hooks%2f.example/', 'encoded slash'],
  ['http://{hooks}.example/', 'character'],
  ['http://xn--a/', 'bad punycode'],
  ['http://XN--0/', 'bad punycode in capitals'],
  ['http://xn--/', 'punycode of nothing'],
  ['http://hooks.xn--a-ecp.example/', 'bad punycode inside'],
  ['http://xn--9999999999.example/', 'punycode beyond Unicode'],
  ['http://xn--example-/', 'punycode of plain letters'],
  [`http://${'a'.repeat(64)}.example/`, 'label too long'],
  [`http://${'abcdefghi.'.repeat(26)}example/`, 'name too long'],
  ['http://1.2.3.4.5/', 'five numbers'],
  ['http://256.1.1.1/', 'number too large'],
  ['http://8.8.8.08/', 'bad octal'],
  ['http://4294967296/', 'decimal too large'],
  ['http://[::1/', 'open bracket'],
  ['http://::1/', 'no brackets'],
  ['http://[::1]x/', 'text after the bracket'],
  ['http://[fe80::1%25eth0]/', 'zone'],
  ['http://[fe80::1%eth0]/', 'zone'],
  ['http://[v1.a]/', 'future address'],
  ['http://hooks.example:0/', 'port 0'],
  ['http://hooks.example:65536/', 'port too large'],
  ['http://hooks.example:8o/', 'port'],
  ['http://hooks.example:-1/', 'port'],
  [`http://hooks.example/${'a'.repeat(1_480)}`, '1501 characters'],
]

describe('never sent to, and refused when it is given: an address that is not public', () => {
  it.each(notPublic)('%s (%s)', async (url) => {
    expect(guarded.findProblem(url)).toBe('must have a public address')
    expect(await failureOf(guarded.post(notice(url)))).toBe('blocked-address')
    expect([opened, asked]).toEqual([[], []])
  })
})

describe('never sent to, and refused when it is given: what is no address', () => {
  it.each(noAddress)('%s (%s)', async (url) => {
    expect(guarded.findProblem(url)).toMatch(/^must (be|have|hold) /)
    expect(guarded.findProblem(url)).not.toBe('must have a public address')
    expect(await failureOf(guarded.post(notice(url)))).toBe('bad-url')
    expect([opened, asked]).toEqual([[], []])
  })
})

describe('taken', () => {
  it.each([
    'https://hooks.example/',
    'http://hooks.example',
    'HTTPS://Hooks.Example:8443/a/b?c=d#e',
    'https://hooks.example./',
    'https://bücher.example/ü?q=ü',
    'https://_x.hooks.example/',
    'http://8.8.8.8/',
    'http://134744072/',
    'https://[2606:4700:4700::1111]:8443/',
    'http://[::ffff:8.8.8.8]/',
    'http://[64:ff9b::808:808]/',
    'https://notlocalhost/',
    'https://localhost.example/',
    'https://hooks.example/?to=http://user@127.0.0.1/',
    'https://hooks.example/@me',
    'https://hooks.example?a@b',
    'https://a/',
    `http://hooks.example/${'a'.repeat(1_479)}`,
  ])('%s', (url) => {
    expect(guarded.findProblem(url)).toBeUndefined()
  })

  it('is a private one that the operator lists', () => {
    const listing = openSender({ allow: ['10.0.0.0/8', 'crm', 'localhost'] })
    const urls = ['http://10.2.3.4/', 'http://0xa.1/', 'http://[::ffff:10.0.0.1]/', 'http://CRM./']
    expect(urls.map((url) => listing.findProblem(url))).toEqual(urls.map(() => undefined))
    expect(listing.findProblem('http://LOCALHOST:1/')).toBeUndefined()
    expect(listing.findProblem('http://127.0.0.1/')).toBe('must have a public address')
    expect(listing.findProblem('http://a.localhost/')).toBe('must have a public address')
  })
})
