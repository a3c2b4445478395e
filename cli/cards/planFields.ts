import { Option } from 'commander'
import { priorities, type Priority } from '../../src/contract/cards/cardPlan.ts'
import { dayEnd, dayStart, estimate, orWord } from '../parsing/arguments.ts'

/** The plan options of a card as typed. `none` clears a value. */
export interface PlanOptions {
  priority?: Priority
  due?: string
  estimate?: number | 'none'
  /** false: any person can start the card at any time. */
  startAt?: string | false
}
/** The fields of a plan in a request. null clears a value. */
export interface PlanRequest {
  priority?: Priority
  dueAt?: string | null
  estimate?: number | null
  startAt?: string | null
}

interface PlanField {
  /** The name in a request. */
  field: keyof PlanRequest
  flags: string
  text: string
  /** The allowed values, the most urgent first. Without them, `parse` decides. */
  choices?: readonly string[]
  /** @throws InvalidArgumentError */
  parse?: (text: string) => string | number
  /** The values in a file. Omitted if files do not set the field. */
  inFile?: { described: string; isValid(value: unknown): boolean }
  /** The offer of the terminal board. Omitted if the board does not set the field. */
  picked?: {
    /** The word before a value: `due tomorrow`. */
    word: string
    values: readonly string[]
    /** Typed text that is a value. */
    typed?: RegExp
    /** The name of an empty value: `no due date`. */
    none?: string
    /** Completes "Card 7 …". */
    said(value: string): string
  }
}

const priorityNames = priorities.toReversed()
const someDays = ['today', 'tomorrow', '7d']

/** The fields of a card's plan, by their options. */
export const planFields: Readonly<Record<keyof PlanOptions, PlanField>> = {
  priority: {
    field: 'priority',
    flags: '--priority <priority>',
    text: 'priority',
    choices: priorityNames,
    inFile: {
      described: 'urgent, high, normal or low',
      isValid: value => (priorities as readonly unknown[]).includes(value),
    },
    picked: { word: 'priority', values: priorityNames, said: value => `has the priority ${value}` },
  },
  due: {
    field: 'dueAt',
    flags: '--due <time>',
    text: 'due date: 2030-01-31, today, tomorrow, 3d, or a time; none for no due date',
    parse: dayEnd,
    inFile: { described: 'a date or time', isValid: isTimeToCome },
    picked: {
      word: 'due',
      values: someDays,
      typed: /^(?:due )?(\d{4}-\d\d-\d\d|\d{1,5}[hd])$/,
      none: 'no due date',
      said: value => `is due ${value}`,
    },
  },
  startAt: {
    field: 'startAt',
    flags: '--start-at <time>',
    text: 'earliest start: 2030-01-31, tomorrow, 2h, or a time. In an active column, the card then starts automatically',
    parse: dayStart,
  },
  estimate: {
    field: 'estimate',
    flags: '--estimate <number>',
    text: 'estimate in any unit; none to clear it',
    parse: estimate,
    inFile: { described: 'a number', isValid: value => typeof value === 'number' && value >= 0 },
    picked: {
      word: 'estimate',
      values: [],
      typed: /^(?:estimate )?(\d{1,7}(?:\.\d{1,2})?)$/,
      none: 'no estimate',
      said: value => `has the estimate ${value}`,
    },
  },
}
const entries = Object.entries(planFields) as ReadonlyArray<[keyof PlanOptions, PlanField]>
export const planNames = entries.map(([name]) => name)

/** The options as people type them: `--due, --estimate`. */
export const planFlags = entries.map(([, { flags }]) => flags.split(' ')[0]!).join(', ')

export const planOptions = (): Option[] =>
  entries.map(([name, { flags, text, choices, parse }]) => {
    const option = new Option(flags, text)
    if (choices) return option.choices(choices)
    return option.argParser(name === 'startAt' ? parse! : orWord('none', parse!))
  })

export const isPlanned = (options: PlanOptions): boolean => planNames.some(name => options[name] !== undefined)

/** Only the plan among options. */
export const planIn = (options: PlanOptions): PlanOptions =>
  Object.fromEntries(planNames.flatMap(name => (options[name] === undefined ? [] : [[name, options[name]]])))

/** The plan in a request. */
export const planOf = (options: PlanOptions): PlanRequest =>
  Object.fromEntries(entries.map(([name, { field }]) => [field, valueOf(options[name])]))

const valueOf = (typed: PlanOptions[keyof PlanOptions]) => (typed === 'none' || typed === false ? null : typed)

/** The plan in a file, with its values as options give them. */
export const planOfFile = (card: Readonly<Record<string, unknown>>): PlanOptions =>
  Object.fromEntries(
    entries.flatMap(([name, { inFile, parse }]) => {
      const value = inFile && card[name]
      return value === undefined ? [] : [[name, typeof value === 'string' && parse ? parse(value) : value]]
    }),
  )

/** A picked value of a plan's field, in a request. */
export const pickedPlan = (name: keyof PlanOptions, value: string): PlanRequest =>
  planOf({ [name]: value === 'none' ? value : (planFields[name].parse?.(value) ?? value) })

function isTimeToCome(value: unknown): boolean {
  try {
    return typeof value === 'string' && dayEnd(value) !== ''
  } catch {
    return false
  }
}
