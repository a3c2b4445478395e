import { assumptionNames, assumptions, type Assumed } from './assumptions.ts'
import type { Measured } from './measured.ts'
import type { Simulated } from './simulate.ts'

const shownSensitivities = 12

export const assumptionsText = (assumed: Assumed): string =>
  table(
    ['assumed', 'value', 'unit', 'because'],
    assumptionNames.map(name => [name, digits(assumed[name]), assumptions[name].unit, assumptions[name].reason]),
  )

export function reportText(measured: Measured, simulated: readonly Simulated[]): string {
  return [
    measuredText(measured),
    billText(simulated),
    ...simulated.map(({ load, ...parts }) => `For ${digits(load.organizations)} organizations:\n\n${partsText(parts)}`),
  ].join('\n')
}

const measuredText = ({ requests, at, machine, delivery, piece, idle, namespace, bytes }: Measured) =>
  `Measured ${at.slice(0, 10)} (${machine}):\n${table(
    ['', 'board', 'libSQL server'],
    [
      ...Object.entries(requests).map(([kind, { board, sqld }]) => [kind, micros(board), micros(sqld)]),
      ['an event to one more socket', micros(delivery), ''],
      ['a piece of a transcript', micros(piece.board), micros(piece.sqld)],
      ['nobody asks, a second', micros(idle.board), micros(idle.sqld)],
      ['memory', `${digits(idle.daemonMegabytes)} MB`, `${digits(namespace.openKilobytes)} kB a namespace`],
      ['a namespace on disk, empty', '', `${digits(namespace.diskKilobytes)} kB`],
      ['a card, an event, a piece on disk', '', `${[bytes.card, bytes.event, bytes.piece].map(digits).join(', ')} B`],
      [
        'first request to a closed one, to an open one',
        '',
        `${digits(namespace.coldMs)} ms (${micros(namespace.coldMicros)}), ${digits(namespace.warmMs)} ms`,
      ],
      ['copied', '', `${digits(namespace.copyMegabytesPerSec)} MB a second`],
    ],
  )}`

function billText(simulated: readonly Simulated[]): string {
  const row = (name: string, of: (each: Simulated) => string) => [name, ...simulated.map(of)]
  return table(
    ['', ...simulated.map(({ load }) => digits(load.organizations))],
    [
      row('people; there on a working day', ({ load }) => `${digits(load.people)}; ${digits(load.present)}`),
      row(
        'requests, deliveries a second',
        ({ load }) => `${digits(load.requestsASec)}, ${digits(load.deliveriesASec)}`,
      ),
      row('at their board; agents at once', ({ load }) => `${digits(load.sitting)}; ${digits(load.agents)}`),
      row('namespaces open at most; mean', ({ load }) => `${digits(load.openAtMost)}; ${digits(load.openOnAverage)}`),
      row(
        'sittings that open one',
        ({ load }) => `${digits(load.coldStartsADay)} a day, ${Math.round(load.coldShare * 100)} %`,
      ),
      row('disk, the largest', ({ load }) => `${digits(load.diskGigabytes)} GB, ${digits(load.largestGigabytes)} GB`),
      row(
        'processors, board and libSQL',
        ({ load }) => `${digits(load.boardProcessors)}, ${digits(load.sqldProcessors)}`,
      ),
      row('processors, memory to have', ({ bill }) => `${digits(bill.processors)}, ${digits(bill.memoryGigabytes)} GB`),
      row('servers, decided by', ({ bill }) => `${digits(bill.servers)}, ${bill.scarce}`),
      row('USD a month', ({ bill }) => digits(bill.month)),
      row('of it servers, disks, backups', ({ bill }) =>
        [bill.serversMonth, bill.disksMonth, bill.backupsMonth].map(digits).join(', '),
      ),
      row(
        'an organization; a person',
        ({ bill }) => `${digits(bill.monthAnOrganization)}; ${digits(bill.monthAPerson)}`,
      ),
      row('agents, on machines of the fleet', ({ bill }) => digits(bill.agentsMonth)),
      row('a process an organization: memory', ({ bill }) => `${digits(bill.today.memoryGigabytes)} GB`),
      row('its processors, USD a month', ({ bill }) => `${digits(bill.today.processors)}, ${digits(bill.today.month)}`),
      row('polling as today, processors', ({ bill }) => digits(bill.today.pollingProcessors)),
    ],
  )
}

const partsText = ({ placed, moves, outages, sensitivity }: Omit<Simulated, 'load' | 'bill'>) =>
  [
    table(
      ['placement of 100,000 at most, a year', 'servers', 'fullest ÷ mean', 'moved', 'GB'],
      placed.map(each => [
        each.method,
        digits(each.servers),
        digits(each.fullest),
        `${digits(each.moved)} (${Math.round(each.movedShare * 100)} %)`,
        digits(each.movedGigabytes),
      ]),
    ),
    table(
      ['a move', 'MB', 'guard', 'takes', 'no writes for', 'writes', 'late', 'lost'],
      moves.map(({ of, megabytes, guard, moved }) => [
        of,
        digits(megabytes),
        guard,
        secs(moved.secs),
        secs(moved.pauseSecs),
        digits(moved.writes),
        digits(moved.delayed),
        digits(moved.lost),
      ]),
    ),
    table(
      [
        'standbys',
        'failures a server and year',
        'of the fleet',
        'minutes a year',
        'bad year',
        'organizations',
        'people',
      ],
      outages.map(each =>
        [
          each.replicas,
          each.failuresAYear,
          each.failures,
          each.minutes,
          each.badYearMinutes,
          each.organizations,
          each.people,
        ].map(digits),
      ),
    ),
    table(
      ['twice as much of', 'bill'],
      sensitivity.slice(0, shownSensitivities).map(({ name, times }) => [name, `${times.toFixed(2)} ×`]),
    ),
  ].join('\n')

function table(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...all.map(row => row[column]!.length)))
  return `${all
    .map(row =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')}\n`
}

const micros = (value: number) => `${digits(value)} µs`
const secs = (value: number) => `${digits(value)} s`
const digits = (value: number): string =>
  value === 0
    ? '0'
    : Math.abs(value) >= 100
      ? Math.round(value).toLocaleString('en-US')
      : String(Number(value.toPrecision(2)))
