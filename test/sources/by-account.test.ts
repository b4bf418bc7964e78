import { describe, expect, it } from 'vitest'
import type { Compliance } from '../../src/domain/compliance.js'
import { phoneNumber } from '../../src/domain/phone-number.js'
import { byAccount } from '../../src/sources/by-account.js'
import { fakeCompliance } from '../support/fake-compliance.js'

const number = phoneNumber('2125550100')
const time = { recordedVoice: false, lawToo: true, strictestPlace: false }

const each: Readonly<Record<keyof Compliance, (source: Compliance, accountId: string) => unknown>> =
  {
    scrub: (source, accountId) => source.scrub({ accountId, number }),
    internalDnc: (source, accountId) => source.internalDnc({ accountId, number }),
    litigator: (source, accountId) => source.litigator({ accountId, number }),
    legalTime: (source, accountId) => source.legalTime({ accountId, number, ...time }),
  }

describe('a source by account', () => {
  it.each(Object.keys(each) as (keyof Compliance)[])(
    '%s goes to the source of its account and to no other',
    async (name) => {
      const sandbox = fakeCompliance()
      const others = fakeCompliance()
      const source = byAccount((accountId) => (accountId === 'sandbox' ? sandbox : others))
      await each[name](source, 'sandbox')
      expect([sandbox.asked, others.asked]).toEqual([[name], []])
      await each[name](source, 'main')
      await each[name](source, 'other')
      expect([sandbox.asked, others.asked]).toEqual([[name], [name, name]])
    },
  )

  it('is there at once when the source answers at once', () => {
    const source = byAccount(() => fakeCompliance())
    expect(source.scrub({ accountId: 'main', number })).toMatchObject({ answered: true })
  })
})
