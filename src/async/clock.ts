/** The source of the wall-clock time. Tests replace the clock of the machine. */
export type Clock = () => Date

export const systemClock: Clock = () => new Date()
