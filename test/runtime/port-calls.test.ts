import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AppError, DataFileError, getErrorCode } from '../../src/errors.js'
import { connectPort, type PortCalls } from '../../src/runtime/port-calls.js'

interface Functions {
  fail(kind: 'refusal' | 'dataFile' | 'system'): void
}

let ports: readonly MessagePort[]
let calls: PortCalls<Functions>

beforeEach(() => {
  const { port1, port2 } = new MessageChannel()
  ports = [port1, port2]
  connectPort<Functions, object>(port1, {
    fail(kind) {
      if (kind === 'refusal') throw new AppError('overloaded', 'too much', { retryAfterSeconds: 2 })
      if (kind === 'dataFile') throw new DataFileError('/data/file', 'is damaged')
      throw Object.assign(new Error('the database is locked'), { code: 'SQLITE_BUSY_SNAPSHOT' })
    },
  })
  calls = connectPort<object, Functions>(port2, {})
})

afterEach(() => {
  for (const port of ports) port.close()
})

describe('an error of another thread', () => {
  const causeOf = (kind: Parameters<Functions['fail']>[0]) =>
    calls.call('fail', kind).catch((cause: unknown) => cause)

  it('is still a refusal', async () => {
    const cause = await causeOf('refusal')
    expect(cause).toBeInstanceOf(AppError)
    expect(cause).toMatchObject({ kind: 'overloaded', message: 'too much', retryAfterSeconds: 2 })
  })

  it('still names its file', async () => {
    const cause = await causeOf('dataFile')
    expect(cause).toBeInstanceOf(DataFileError)
    expect(cause).toMatchObject({ path: '/data/file', message: '/data/file: is damaged' })
  })

  it('keeps its code', async () => {
    const cause = await causeOf('system')
    expect(cause).toMatchObject({ message: 'the database is locked' })
    expect(getErrorCode(cause)).toBe('SQLITE_BUSY_SNAPSHOT')
  })
})
