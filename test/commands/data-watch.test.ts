import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openAppContext } from '../../src/app/app-context.js'
import { getListsFolder, getNumberingFolder } from '../../src/app/data-folders.js'
import { registerRecords } from '../../src/commands/records/records.js'
import { refreshData, watchData } from '../../src/commands/serve/data-watch.js'
import { importList } from '../../src/data/number-list/import/list-import.js'
import type { DecisionDocument } from '../../src/gate/record/decision-document.js'
import { nodeRuntime } from '../../src/runtime/runtime.js'
import { runCommand } from '../support/run-command.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
const clock = { now: () => mondayNoon }

beforeEach(async () => {
  running = await openTestCallgate()
})

afterEach(async () => {
  await running.end()
})

async function reason(number: string, more: object = {}, key = running.keys.main): Promise<string> {
  const body = { number, callKind: 'manual', ...more }
  const response = await running.postJson('/v1/decisions', body, key)
  return ((await response.json()) as DecisionDocument).reason
}

async function importNumbers(name: string, numbers: string): Promise<void> {
  const file = join(running.dataDir, 'numbers.txt')
  writeFileSync(file, numbers)
  const folder = getListsFolder(running.callgate.settings)
  const made = { name, files: [file], folder, asOf: mondayNoon, clock }
  await importList({ ...made, areaCodes: 'all' })
}

describe('a running server', () => {
  it('judges by a new list, also when imported prefixes cannot be read at the same time', async () => {
    await importNumbers('us-dnc', '2127360001\n')
    await importNumbers('litigators', '2127360002\n')
    await refreshData(running.callgate)
    expect(await reason('2127360003')).toBe('permitted')
    const folder = getNumberingFolder(running.callgate.settings)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'numbering-us.cg'), 'not a prefix file')
    await importNumbers('us-dnc', '2127360001\n2127360003\n')
    await refreshData(running.callgate)
    expect(await reason('2127360003')).toBe('national-dnc')
    expect(running.logLines.join('')).toContain('a numbering file cannot be used')
  })

  it('starts with a damaged numbering file, blocks its country, says so, and recovers', async () => {
    await importNumbers('us-dnc', '2127360001\n')
    await importNumbers('litigators', '2127360002\n')
    const folder = getNumberingFolder(running.callgate.settings)
    mkdirSync(folder, { recursive: true })
    const path = join(folder, 'numbering-us.cg')
    writeFileSync(path, 'not a prefix file')
    const { dataDir } = running
    await running.stop()
    running = await openTestCallgate({ dataDir })
    expect(await reason('2127360003')).not.toBe('permitted')
    const line = await running.get('/v1/predial?number=911')
    expect(await line.text()).toMatch(/^allow:911:/)
    const ready = await running.get('/readyz')
    expect(ready.status).toBe(503)
    const body = await ready.text()
    expect(body).toContain(`${path}: is not a callgate data file`)
    expect(body).toContain('calls to US are blocked')
    rmSync(path)
    await refreshData(running.callgate)
    expect(await reason('2127360003')).toBe('permitted')
    expect((await running.get('/readyz')).status).toBe(200)
  })

  it('judges by project hours that another process has set', async () => {
    const { settings, projects } = running.callgate
    await projects.create({ accountId: 'sandbox', code: 'P', name: 'P' })
    const ask = () => reason('2125550100', { projectId: 'P' }, running.keys.sandbox)
    expect(await ask()).toBe('permitted')
    const elsewhere = await openAppContext(settings, { ...nodeRuntime, clock })
    const hours = { monFri: '14:00-15:00', sat: 'none', sun: 'none' }
    await elsewhere.projects.setHours({ accountId: 'sandbox', code: 'P' }, 'NY', hours)
    await elsewhere.close()
    await refreshData(running.callgate)
    expect(await ask()).toBe('outside-calling-hours')
  })

  it('judges by an opt-out that another process stores while a large list is being read', async () => {
    const { callgate } = running
    const ask = () => reason('2125550100', {}, running.keys.sandbox)
    expect(await ask()).toBe('permitted')
    let endReading: (hasChanged: boolean) => void = () => undefined
    const reading = new Promise<boolean>((resolve) => {
      endReading = resolve
    })
    const refreshInBackground = vi
      .spyOn(callgate.data.lists, 'refreshInBackground')
      .mockReturnValue(reading)
    const stop = watchData(callgate)
    try {
      await expect.poll(() => refreshInBackground.mock.calls.length).toBe(1)
      const file = join(running.dataDir, 'opt-outs.csv')
      writeFileSync(file, 'phone,date\n2125550100,2026-11-20\n')
      const args = ['records', 'import', 'opt-outs', file, '--account', 'sandbox']
      expect(await runCommand(registerRecords, args, running)).toMatchObject({ err: '', code: 0 })
      await expect.poll(ask).toBe('internal-dnc')
    } finally {
      endReading(false)
      stop()
    }
  })
})
