import type { Assumed } from './assumptions.ts'
import type { Load } from './load.ts'
import type { Measured } from './measured.ts'

const hoursAMonth = 730
const bytesOfAccount = 4000

/** The servers of a fleet, and their cost per month in USD. */
export interface Bill {
  processors: number
  memoryGigabytes: number
  diskGigabytes: number
  servers: number
  /** The resource that decides how many servers are needed. */
  scarce: 'processors' | 'memory' | 'disk' | 'standbys'
  serversMonth: number
  disksMonth: number
  backupsMonth: number
  month: number
  monthAnOrganization: number
  monthAPerson: number
  /** The cost with agents on machines of the fleet. */
  agentsMonth: number
  /** The requirements of one process per organization, as in today's code. */
  today: { memoryGigabytes: number; processors: number; month: number; pollingProcessors: number }
}

export function billOf(measured: Measured, assumed: Assumed, load: Load): Bill {
  const copies = 1 + assumed.replicas
  const processors = (load.boardProcessors + load.sqldProcessors * copies) / assumed.load
  const memoryGigabytes =
    (load.openAtMost * (measured.namespace.openKilobytes * copies + assumed.daemonKilobytes) +
      load.sitting * measured.socketKilobytes) /
    1e6
  const diskGigabytes = (load.diskGigabytes + (load.people * bytesOfAccount) / 1e9) * copies
  const needed = {
    standbys: copies,
    processors: processors / assumed.serverProcessors,
    // A server has one libSQL server, and one daemon per processor.
    memory:
      memoryGigabytes /
      (assumed.serverMemory * assumed.fill -
        (measured.sqld.emptyMegabytes + measured.idle.daemonMegabytes * assumed.serverProcessors) / 1000),
    disk: diskGigabytes / (assumed.serverDisk * assumed.fill),
  }
  const [scarce] = Object.entries(needed).sort(([, a], [, b]) => b - a)[0] as [Bill['scarce'], number]
  const servers = Math.ceil(needed[scarce])
  const serversMonth =
    servers *
    (assumed.serverProcessors * hoursAMonth * assumed.processorHour + assumed.serverMemory * assumed.memoryMonth)
  const disksMonth = (diskGigabytes / assumed.fill) * assumed.diskMonth
  const backupsMonth = load.diskGigabytes * assumed.backupMonth
  const month = serversMonth + disksMonth + backupsMonth
  return {
    processors,
    memoryGigabytes,
    diskGigabytes,
    servers,
    scarce,
    serversMonth,
    disksMonth,
    backupsMonth,
    month,
    monthAnOrganization: month / load.organizations,
    monthAPerson: month / load.people,
    agentsMonth: agentsMonth(assumed, load),
    today: today(measured, assumed, load),
  }
}

const agentsMonth = (assumed: Assumed, { agents }: Load) =>
  agents *
  ((assumed.agentProcessors / assumed.load) * hoursAMonth * assumed.processorHour +
    (assumed.agentMemory / assumed.fill) * assumed.memoryMonth)

/**
 * A separate daemon per organization, which polls for work all day and keeps its namespace open; and the cost of shared daemons
 * that poll each open namespace as often.
 */
function today(measured: Measured, assumed: Assumed, { organizations, openOnAverage }: Load): Bill['today'] {
  const megabytes = measured.idle.daemonMegabytes + measured.namespace.openKilobytes / 1000
  const memoryGigabytes = (organizations * megabytes) / 1000
  const polling = (measured.idle.board + measured.idle.sqld) / 1e6
  const processors = organizations * polling
  return {
    memoryGigabytes,
    processors,
    pollingProcessors: openOnAverage * polling,
    month:
      (memoryGigabytes / assumed.fill) * assumed.memoryMonth +
      (processors / assumed.load) * hoursAMonth * assumed.processorHour,
  }
}
