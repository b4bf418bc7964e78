// Adds decisions to the table of page Now as they are recorded, and draws its charts.
const maxRows = 200
const speakEveryMs = 5_000
const figuresEveryMs = 5_000
/** As many as the server keeps. */
const shownSeconds = 15 * 60
const retryMs = 10_000
const maxRetries = 6

const place = document.querySelector('[data-stream]')
if (place) follow(place)
const charts = [...document.querySelectorAll('[data-chart]')]
if (charts.length > 0) drawCharts()

function follow(place) {
  const rows = place.querySelector('tbody')
  const count = document.querySelector('[data-count]')
  const button = document.querySelector('[data-pause]')
  const kinds = JSON.parse(place.dataset.kinds)
  const reasons = JSON.parse(place.dataset.reasons)
  let source
  let isPaused = false
  let retries = 0
  let lastId = place.dataset.after
  let told = 0
  let skipped = 0
  let hasMore = false
  let problem = ''
  let isSpeaking = false

  const speak = () => {
    isSpeaking = false
    const missing =
      skipped > 0 || hasMore
        ? `, and ${hasMore ? 'at least ' : ''}${skipped} that are not shown`
        : ''
    const state = problem || (isPaused ? 'Paused.' : 'Live.')
    count.textContent = `${state} New since the page was loaded: ${told}${missing}.`
  }
  const speakSoon = () => {
    if (isSpeaking) return
    isSpeaking = true
    setTimeout(speak, speakEveryMs)
  }
  const close = () => {
    source?.close()
    source = undefined
  }
  const open = () => {
    if (source || isPaused || document.hidden) return
    const address = new URL(place.dataset.stream, location.href)
    if (lastId) address.searchParams.set('after', lastId)
    const opened = new EventSource(address)
    source = opened
    opened.onopen = () => {
      retries = 0
      if (problem === '') return
      problem = ''
      speak()
    }
    opened.addEventListener('decision', (event) => {
      lastId = event.lastEventId || lastId
      told += 1
      rows.prepend(toRow(JSON.parse(event.data), kinds, reasons))
      while (rows.rows.length > maxRows) rows.lastElementChild.remove()
      speakSoon()
    })
    opened.addEventListener('skipped', (event) => {
      const more = JSON.parse(event.data)
      skipped += more.count
      hasMore ||= more.hasMore
      speakSoon()
    })
    opened.onerror = () => {
      // The browser comes again by itself, unless it was refused.
      if (opened.readyState !== EventSource.CLOSED || source !== opened) return
      close()
      retries += 1
      const isOver = retries > maxRetries
      problem = isOver
        ? 'The stream has ended; load the page again.'
        : 'The stream cannot be read now; trying again.'
      speak()
      if (!isOver) setTimeout(open, retryMs)
    }
  }
  button.hidden = false
  button.addEventListener('click', () => {
    isPaused = !isPaused
    button.textContent = isPaused ? 'Continue' : 'Pause'
    if (isPaused) close()
    else open()
    speak()
  })
  // A browser has few connections to one server, for all its windows.
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()))
  addEventListener('pagehide', close)
  addEventListener('pageshow', open)
  speak()
  open()
}

function toRow(decision, kinds, reasons) {
  const time = document.createElement('time')
  time.dateTime = decision.decidedAt
  time.textContent = decision.decidedAt.replace('T', ' ').replace(/(?:\.\d+)?Z$/, ' UTC')
  const link = document.createElement('a')
  link.href = `/console/decisions/${encodeURIComponent(decision.id)}`
  link.append(time)
  const sign = document.createElement('span')
  sign.ariaHidden = 'true'
  const isAllowed = decision.decision === 'allow'
  sign.textContent = isAllowed ? '✓' : '✕'
  const verdict = document.createElement('span')
  verdict.className = `verdict ${isAllowed ? 'allow' : 'block'}`
  verdict.append(sign, isAllowed ? ' Allowed' : ' Blocked')
  const number = document.createElement('span')
  number.className = 'number'
  number.textContent = decision.number.replace(/^(\d{3})(\d{3})(\d{4})$/, '($1) $2-$3')
  const name = document.createElement('b')
  name.textContent = reasons[decision.reason] ?? decision.reason
  const code = document.createElement('code')
  code.textContent = reasons[decision.reason] ? decision.reason : ''
  const reason = document.createElement('span')
  reason.className = 'reason'
  const message = decision.message.replace(
    /(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z/g,
    '$1 $2 UTC',
  )
  reason.append(name, ' ', code, document.createElement('br'), message)
  const when = document.createElement('th')
  when.scope = 'row'
  when.append(link)
  const row = document.createElement('tr')
  const cells = [
    [verdict],
    [number],
    [reason],
    [kinds[decision.callKind] ?? decision.callKind],
    [decision.projectId ?? ''],
  ].map((content) => {
    const cell = document.createElement('td')
    cell.append(...content)
    return cell
  })
  row.append(when, ...cells)
  return row
}

function drawCharts() {
  const color = (name) => () => getComputedStyle(document.documentElement).getPropertyValue(name)
  const line = (label, stroke, dash) => ({
    label,
    stroke: color(stroke),
    width: 2,
    dash,
    points: { show: false },
  })
  const kindsOfChart = {
    rate: {
      series: [line('Allowed', '--good'), line('Blocked', '--bad', [6, 4])],
      read: (steps, seconds) => [
        steps.map(({ allowed }) => allowed / seconds),
        steps.map(({ blocked }) => blocked / seconds),
      ],
    },
    share: {
      series: [line('Blocked', '--bad')],
      range: [0, 100],
      read: (steps) => [
        steps.map(({ allowed, blocked }) =>
          allowed + blocked === 0 ? null : (100 * blocked) / (allowed + blocked),
        ),
      ],
    },
    latency: {
      series: [line('p99', '--link'), line('p50', '--soft', [6, 4])],
      read: (steps) => [steps.map(({ p99Ms }) => p99Ms), steps.map(({ p50Ms }) => p50Ms)],
    },
  }
  const toTime = (seconds) => new Date(seconds * 1_000).toISOString().slice(11, 16)
  const axis = {
    stroke: color('--soft'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  }
  const height = 160
  const drawn = charts.map((element) => {
    const { series, read, range } = kindsOfChart[element.dataset.chart]
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: false },
        cursor: { show: false },
        scales: {
          x: { range: (_plot, _first, last) => [(last ?? 0) - shownSeconds, last ?? 0] },
          y: { range: range ?? ((_plot, _low, high) => [0, Math.max(1, high * 1.1)]) },
        },
        axes: [
          { ...axis, values: (_plot, times) => times.map(toTime) },
          { ...axis, size: 48 },
        ],
        series: [{}, ...series],
      },
      [[], ...series.map(() => [])],
      element,
    )
    new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height })).observe(element)
    return { plot, read }
  })
  const show = ({ steps, stepSeconds }) => {
    const times = steps.map(({ at }) => Date.parse(at) / 1_000)
    for (const { plot, read } of drawn) plot.setData([times, ...read(steps, stepSeconds)])
  }
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    for (const { plot } of drawn) plot.redraw()
  })
  const address = charts[0].dataset.figures
  const read = async () => {
    if (document.hidden) return
    try {
      const answer = await fetch(address)
      if (answer.ok) show(await answer.json())
    } catch {
      // The next reading may succeed.
    }
  }
  void read()
  setInterval(read, figuresEveryMs)
}
