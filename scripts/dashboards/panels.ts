/** What all dashboards have in common: their variables, and how a panel is drawn. */
import type { Builder, Dataquery } from '@grafana/grafana-foundation-sdk/cog'
import * as common from '@grafana/grafana-foundation-sdk/common'
import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard'
import * as heatmap from '@grafana/grafana-foundation-sdk/heatmap'
import * as prometheus from '@grafana/grafana-foundation-sdk/prometheus'
import * as stat from '@grafana/grafana-foundation-sdk/stat'
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries'

/** The label matchers of every query. */
export const own = 'job="$job",instance=~"$instance"'
/** Decisions for calls: neither what-ifs nor questions of the command line. */
export const calls = `${own},via!~"what-if|check"`

/** A PromQL expression and the name of its series, in which `{{label}}` is the value of a label. */
export type Query = readonly [expression: string, legend: string]

export interface PanelSpec {
  readonly title: string
  /** What it shows, and what is worth a look. */
  readonly about: string
  /** Its section in the runbook is linked. */
  readonly alert: string
  /** Of Grafana, such as `s`, `reqps` or `percentunit`. */
  readonly unit: string
  readonly queries: readonly Query[]
  /** Value at which it turns red; the same as in the alert. */
  readonly redFrom?: number
  /** Red below the value instead. */
  readonly redBelow?: number
  readonly max?: number
  readonly stacked?: boolean
  /** Shown where there is no data, such as `none`. */
  readonly noValue?: string
  /** In 24ths of the width. */
  readonly span?: number
}

export interface DashboardSpec {
  readonly uid: string
  readonly title: string
  readonly about: string
  readonly rows: readonly {
    readonly title: string
    readonly panels: readonly (PanelSpec & { readonly kind: keyof typeof draw })[]
  }[]
}

const datasource = { type: 'prometheus', uid: '$datasource' }
const height = 8

/** A block is the product at work, so it is not red. */
const colors: Readonly<Record<string, string>> = {
  allow: 'green',
  block: 'blue',
  undecided: 'orange',
}

export function buildDashboard({ uid, title, about, rows }: DashboardSpec): dashboard.Dashboard {
  const builder = new dashboard.DashboardBuilder(title)
    .uid(uid)
    .description(about)
    .tags(['callgate'])
    .timezone('browser')
    .time({ from: 'now-6h', to: 'now' })
    .refresh('30s')
    .tooltip(dashboard.DashboardCursorSync.Crosshair)
    .link(
      new dashboard.DashboardLinkBuilder('callgate dashboards')
        .type(dashboard.DashboardLinkType.Dashboards)
        .tags(['callgate'])
        .asDropdown(true)
        .keepTime(true)
        .includeVars(true),
    )
    .link(linkTo('Runbook', '$runbook'))
    .annotation(
      new dashboard.AnnotationQueryBuilder()
        .name('Starts')
        .datasource(datasource)
        .enable(true)
        .iconColor('purple')
        .expr(`changes(process_start_time_seconds{${own}}[$__interval]) > 0`),
    )
  for (const variable of createVariables()) builder.withVariable(variable)
  let id = 0
  for (const row of rows) {
    id += 1
    builder.withRow(new dashboard.RowBuilder(row.title).id(id))
    for (const panel of row.panels) {
      id += 1
      builder.withPanel(draw[panel.kind](panel).id(id))
    }
  }
  return builder.build()
}

function createVariables(): Builder<dashboard.VariableModel>[] {
  return [
    new dashboard.DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'),
    new dashboard.QueryVariableBuilder('job')
      .label('Job')
      .datasource(datasource)
      .query('label_values(callgate_build_info, job)')
      .refresh(dashboard.VariableRefresh.OnDashboardLoad),
    new dashboard.QueryVariableBuilder('instance')
      .label('Instance')
      .datasource(datasource)
      .query('label_values(callgate_build_info{job="$job"}, instance)')
      .refresh(dashboard.VariableRefresh.OnTimeRangeChanged)
      .multi(true)
      .includeAll(true),
    new dashboard.TextBoxVariableBuilder('runbook')
      .label('Runbook')
      .defaultValue('https://runbook.example.com/callgate.md'),
  ]
}

function linkTo(title: string, url: string): dashboard.DashboardLinkBuilder {
  return new dashboard.DashboardLinkBuilder(title)
    .type(dashboard.DashboardLinkType.Link)
    .url(url)
    .targetBlank(true)
}

const draw = {
  graph(spec: PanelSpec) {
    const panel = new timeseries.PanelBuilder()
      .span(spec.span ?? 12)
      .lineWidth(1)
      .fillOpacity(spec.stacked ? 40 : 8)
      .legend(
        new common.VizLegendOptionsBuilder()
          .showLegend(true)
          .displayMode(common.LegendDisplayMode.Table)
          .placement(common.LegendPlacement.Bottom)
          .calcs(['lastNotNull', 'max']),
      )
      .tooltip(new common.VizTooltipOptionsBuilder().mode(common.TooltipDisplayMode.Multi))
    if (spec.stacked) {
      panel.stacking(new common.StackingConfigBuilder().mode(common.StackingMode.Normal))
    }
    for (const [name, color] of Object.entries(colors)) {
      panel.overrideByName(name, [{ id: 'color', value: { mode: 'fixed', fixedColor: color } }])
    }
    return describe(panel, spec)
  },
  stat(spec: PanelSpec) {
    const panel = new stat.PanelBuilder()
      .span(spec.span ?? 6)
      .graphMode(common.BigValueGraphMode.Area)
      .textMode(common.BigValueTextMode.Auto)
      .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']).values(false))
    return describe(panel, spec)
  },
  heatmap(spec: PanelSpec) {
    const panel = new heatmap.PanelBuilder().span(spec.span ?? 12).calculate(false)
    return describe(panel, spec, prometheus.PromQueryFormat.Heatmap)
  },
}

type AnyPanelBuilder = timeseries.PanelBuilder | stat.PanelBuilder | heatmap.PanelBuilder

function describe<Panel extends AnyPanelBuilder>(
  panel: Panel,
  spec: PanelSpec,
  format = prometheus.PromQueryFormat.TimeSeries,
): Panel {
  panel
    .title(spec.title)
    .description(spec.about)
    .unit(spec.unit)
    .min(0)
    .height(height)
    .datasource(datasource)
    .targets(spec.queries.map((query, index) => toTarget(query, index, format)))
    .links([linkTo('Runbook', `$runbook#${spec.alert.toLowerCase()}`)])
    .thresholds(toThresholds(spec))
  if (spec.max !== undefined) panel.max(spec.max)
  if (spec.noValue !== undefined) panel.noValue(spec.noValue)
  return panel
}

function toTarget([expression, legend]: Query, index: number, format: prometheus.PromQueryFormat) {
  const target: Builder<Dataquery> = new prometheus.DataqueryBuilder()
    .refId(String.fromCharCode('A'.charCodeAt(0) + index))
    .expr(expression)
    .legendFormat(legend)
    .format(format)
    .range()
  return target
}

function toThresholds({ redFrom, redBelow }: PanelSpec) {
  const start = { value: null, color: redBelow === undefined ? 'green' : 'red' }
  const at = redFrom ?? redBelow
  const more =
    at === undefined ? [] : [{ value: at, color: redBelow === undefined ? 'red' : 'green' }]
  return new dashboard.ThresholdsConfigBuilder()
    .mode(dashboard.ThresholdsMode.Absolute)
    .steps([start, ...more])
}
