/** The source of the current time. Tests use their own clock instead of the one of the machine. */
export type Clock = () => Date

export const systemClock: Clock = () => new Date()
