/** The dashboards of Grafana are what their program makes; `npm run dashboards` writes them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { dashboards, undecided } from '../scripts/dashboards/dashboards.js'
import { buildDashboard } from '../scripts/dashboards/panels.js'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'config/grafana/dashboards')
const alertsText = readFileSync(join(root, 'config/prometheus/alerts.yml'), 'utf8')
const alerts: readonly string[] = parse(alertsText).groups.flatMap(
  (group: { rules: { alert?: string }[] }) => group.rules.flatMap(({ alert }) => alert ?? []),
)

describe.each(dashboards)('$title', (spec) => {
  test('is the file', async () => {
    const text = `${JSON.stringify(buildDashboard(spec), undefined, 2)}\n`
    await expect(text).toMatchFileSnapshot(join(folder, `${spec.uid}.json`))
  })

  test('describes each panel, and links it to a section of the runbook', () => {
    for (const panel of spec.rows.flatMap(({ panels }) => panels)) {
      expect(panel.about, panel.title).toMatch(/^[A-Z0-9a-z].*\.$/)
      expect(panel.unit, panel.title).not.toBe('')
      expect(alerts, panel.title).toContain(panel.alert)
    }
  })

  test('has no two panels of a title, and ids of their own', () => {
    const titles = spec.rows.flatMap(({ panels }) => panels.map(({ title }) => title))
    expect(new Set(titles).size).toBe(titles.length)
    const ids = (buildDashboard(spec).panels ?? []).map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

test('the alerts count decisions without answers by the same reasons', () => {
  const listed = alertsText.match(/reason=~"[^"]+"/g) ?? []
  expect(listed.length).toBeGreaterThan(0)
  expect(new Set(listed)).toEqual(new Set([undecided]))
})

test('every file is of a dashboard', () => {
  expect(readdirSync(folder).sort()).toEqual(dashboards.map(({ uid }) => `${uid}.json`).sort())
})
