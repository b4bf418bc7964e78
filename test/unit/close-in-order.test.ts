import { expect, test } from 'vitest'
import { closeInOrder } from '../../src/runtime/close-in-order.js'

test('each ends before the next begins, also when one fails, and the failures are told', async () => {
  const order: string[] = []
  const closer =
    (name: string, fails = false) =>
    async () => {
      order.push(`${name} begins`)
      await new Promise((resolve) => setImmediate(resolve))
      order.push(`${name} ends`)
      if (fails) throw new Error(name)
    }
  await expect(closeInOrder([closer('a'), closer('b', true), closer('c')])).rejects.toThrow('b')
  const names = ['a', 'b', 'c']
  expect(order).toEqual(names.flatMap((name) => [`${name} begins`, `${name} ends`]))
  const both = closeInOrder([closer('a', true), closer('b', true)])
  await expect(both).rejects.toThrow('2 parts could not be closed')
  await closeInOrder([closer('a'), () => undefined])
})
