/** A value that is assumed, not measured here: how users work, machine costs and failure rates. Each can be set with `--set name=value`. */
interface Assumption {
  value: number
  unit: string
  reason: string
}

export const assumptions = {
  sizeExponent: {
    value: 1.1,
    unit: 'of the share of organizations that have at least that many people',
    reason:
      'Sizes of firms follow a power law of about 1 in every country that counts them; a little steeper for teams.',
  },
  largestPeople: { value: 5000, unit: 'people', reason: 'A larger one runs its own servers.' },
  activeShare: {
    value: 0.3,
    unit: 'of organizations in use this month',
    reason: 'Most who try a service of this kind leave it; their boards stay.',
  },
  presentShare: { value: 0.6, unit: 'of their people on a working day', reason: 'Part time, holidays, meetings.' },
  timetableShare: {
    value: 0.05,
    unit: 'of active organizations with a schedule or a monitor',
    reason: 'These are awake all the time: something is due within minutes.',
  },
  sittings: { value: 4, unit: 'a person and day', reason: 'Morning, before and after lunch, evening.' },
  sittingMinutes: { value: 30, unit: 'minutes', reason: 'A page stays open, and asks, for as long.' },
  readsAnHour: {
    value: 60,
    unit: 'a person at work and hour',
    reason: 'One card or list a minute; the rest comes by the socket.',
  },
  writesAnHour: { value: 12, unit: 'a person at work and hour', reason: 'A card made or moved each 5 minutes.' },
  listShare: { value: 0.3, unit: 'of reads that are lists', reason: 'A board is opened, then its cards.' },
  listenersShare: {
    value: 0.2,
    unit: "of an organization's present people who hear an event",
    reason: 'Those who have the same project open.',
  },
  sessionsADay: {
    value: 5,
    unit: 'a person and working day',
    reason: '20,000 sessions a year are 16 people with 5 a day.',
  },
  sessionMinutes: { value: 20, unit: 'minutes', reason: 'The time of agents for a card of half a day.' },
  piecesASession: { value: 1500, unit: 'transcript pieces', reason: '30 million pieces in 20,000 sessions.' },
  cardsAPerson: { value: 300, unit: 'cards kept', reason: 'A year of what a person finishes each working day.' },
  keptYears: {
    value: 1,
    unit: 'years of transcripts',
    reason: 'Today they go with their card only, so this grows with the age of an organization.',
  },
  idleDataShare: {
    value: 0.1,
    unit: "of an active organization's data",
    reason: 'The data of inactive people and projects.',
  },
  daemonKilobytes: {
    value: 500,
    unit: 'kB in a daemon for an open namespace',
    reason: 'A connection, statements, caches; not measured, for today a daemon has one database.',
  },
  agentProcessors: { value: 0.2, unit: 'processors an agent', reason: 'Agents wait for a model most of the time.' },
  agentMemory: { value: 1, unit: 'GB an agent', reason: 'The agent, and the tests and compilers that it runs.' },
  idleMinutes: {
    value: 10,
    unit: 'minutes',
    reason: 'A namespace without requests for this time is closed.',
  },
  load: { value: 0.5, unit: 'of the processors at the peak', reason: 'Twice the load of the usual peak still passes.' },
  fill: { value: 0.7, unit: 'of disk and memory', reason: 'Reserve for growth until a namespace is moved.' },
  serverProcessors: { value: 4, unit: 'processors a server', reason: 'A size that every provider has.' },
  serverMemory: { value: 16, unit: 'GB a server', reason: 'As above.' },
  serverDisk: { value: 2000, unit: 'GB a server', reason: 'More, and a lost one takes hours to restore.' },
  replicas: { value: 1, unit: 'standbys of each libSQL server', reason: 'One takes over while the other is repaired.' },
  failuresAYear: {
    value: 2,
    unit: 'of a server a year',
    reason: 'Restarts of the host, kernels, disks: one or two a year where machines are rented.',
  },
  lostShare: { value: 0.1, unit: 'of failures that lose the disk', reason: 'Most servers return with their data.' },
  restartMinutes: { value: 5, unit: 'minutes', reason: 'A machine that starts again.' },
  restoreMinutes: { value: 240, unit: 'minutes', reason: '1,400 GB from backups at 100 MB a second.' },
  takeoverSecs: { value: 10, unit: 'seconds', reason: 'Three heartbeats missed, and the lease runs out.' },
  processorHour: { value: 0.025, unit: 'USD', reason: 'Between what large and small providers ask for a rented one.' },
  memoryMonth: { value: 2.5, unit: 'USD a GB', reason: 'As above, taken apart from the processor.' },
  diskMonth: { value: 0.1, unit: 'USD a GB', reason: 'Network disks of large providers; a local one is cheaper.' },
  backupMonth: { value: 0.02, unit: 'USD a GB', reason: 'Object storage.' },
} satisfies Record<string, Assumption>

/** The locations of people: hours from UTC, and the share of organizations. North America, Europe and Asia, distributed like the users of code hosts. */
export const zones = [
  { hoursFromUtc: -8, share: 0.15 },
  { hoursFromUtc: -5, share: 0.2 },
  { hoursFromUtc: 0, share: 0.15 },
  { hoursFromUtc: 1, share: 0.25 },
  { hoursFromUtc: 5, share: 0.15 },
  { hoursFromUtc: 8, share: 0.1 },
] as const
/** The share of a day's sittings that start in each local hour: two peaks around lunch, and a tail in the evening. */
export const dayShape = [
  0.2, 0.1, 0.1, 0.1, 0.1, 0.2, 0.6, 2, 6, 10, 12, 11, 7, 9, 11, 11, 9, 5, 2, 1.5, 1.2, 1, 0.6, 0.3,
].map((part, _, all) => part / all.reduce((sum, each) => sum + each, 0))

export type AssumptionName = keyof typeof assumptions
export type Assumed = Record<AssumptionName, number>

export const assumptionNames = Object.keys(assumptions) as AssumptionName[]

/** All values, some of them changed. */
export const assumed = (changes: Partial<Assumed> = {}): Assumed => ({
  ...(Object.fromEntries(assumptionNames.map(name => [name, assumptions[name].value])) as Assumed),
  ...changes,
})
