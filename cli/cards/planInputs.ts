import { Option } from 'commander'
import type { Plan } from '../../src/contract/cards/cardPlan.ts'
import {
  choiceValues,
  choiceWords,
  isClearable,
  mapChoices,
  planWord,
  type ChoiceName,
  type ChoiceValue,
  type PlanFieldName,
} from '../../src/contract/cards/planFields.ts'
import { dayEnd, dayStart, estimate, orWord } from '../parsing/arguments.ts'

/** The plan options of a card as typed. `none` clears a value. */
export type PlanOptions = { [Name in ChoiceName]?: ChoiceValue<Name> | 'none' } & {
  due?: string
  estimate?: number | 'none'
  /** `false` removes the start time. */
  startAt?: string | false
}
/** The fields of a plan in a request. null clears a value. */
export type PlanRequest = Plan & { startAt?: string | null }

/** A field in a file with cards. */
export interface FileField {
  described: string
  isValid(value: unknown): boolean
  /** Parses a value of front matter. If undefined, the value is the text. */
  parse?: (text: string) => unknown
}
/** How users type or select a field of a plan. */
interface PlanInput {
  field: PlanFieldName
  flags: string
  text: string
  /** The allowed values, the highest first. If undefined, `parse` checks the value. */
  choices?: readonly string[]
  /** @throws InvalidArgumentError */
  parse?: (text: string) => string | number
  /** Omitted if files do not set the field. */
  inFile?: FileField
  /** The choices that the terminal board offers. Omitted if the board does not set the field. */
  picked?: {
    values: readonly string[]
    /** Matches typed text that is a valid value. */
    typed?: RegExp
  }
}

const choiceInput = (field: ChoiceName): PlanInput => {
  const [word, values] = [planWord(field), choiceValues(field)]
  return {
    field,
    flags: `--${field} <${field}>`,
    text: isClearable(field) ? `${word}; none to clear it` : word,
    choices: isClearable(field) ? [...values, 'none'] : values,
    inFile: {
      described: choiceWords(field),
      isValid: value => (values as readonly unknown[]).includes(value),
    },
    picked: { values },
  }
}

/** The inputs of a card's plan, by their options. */
export const planInputs: Readonly<Record<keyof PlanOptions, PlanInput>> = {
  ...mapChoices(choiceInput),
  due: {
    field: 'dueAt',
    flags: '--due <time>',
    text: 'due date: 2030-01-31, today, tomorrow, 3d, or a time; none for no due date',
    parse: dayEnd,
    inFile: { described: 'a date or time', isValid: isTimeToCome },
    picked: { values: ['today', 'tomorrow', '7d'], typed: /^(?:due (?:date )?)?(\d{4}-\d\d-\d\d|\d{1,5}[hd])$/ },
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
    inFile: {
      described: 'a number',
      isValid: value => typeof value === 'number' && value >= 0,
      parse: text => Number(text || Number.NaN),
    },
    picked: { values: [], typed: /^(?:estimate )?(\d{1,7}(?:\.\d{1,2})?)$/ },
  },
}
const entries = Object.entries(planInputs) as ReadonlyArray<[keyof PlanOptions, PlanInput]>
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

/** Returns only the options of the plan. */
export const planIn = (options: PlanOptions): PlanOptions =>
  Object.fromEntries(planNames.flatMap(name => (options[name] === undefined ? [] : [[name, options[name]]])))

/** The plan in a request. */
export const planOf = (options: PlanOptions): PlanRequest =>
  Object.fromEntries(entries.map(([name, { field }]) => [field, valueOf(options[name])]))

const valueOf = (typed: PlanOptions[keyof PlanOptions]) => (typed === 'none' || typed === false ? null : typed)

/** The fields of a plan that files set. */
export const planFileFields = Object.fromEntries(
  entries.flatMap(([name, { inFile }]) => (inFile ? [[name, inFile]] : [])),
) as Readonly<Record<Exclude<keyof PlanOptions, 'startAt'>, FileField>>

/** The plan in a file, with values in the format of the options. */
export const planOfFile = (card: Readonly<Record<string, unknown>>): PlanOptions =>
  Object.fromEntries(
    entries.flatMap(([name, { inFile, parse }]) => {
      const value = inFile && card[name]
      return value === undefined ? [] : [[name, typeof value === 'string' && parse ? parse(value) : value]]
    }),
  )

/** A picked value of a plan's field, in a request. */
export const pickedPlan = (name: keyof PlanOptions, value: string): PlanRequest =>
  planOf({ [name]: value === 'none' ? value : (planInputs[name].parse?.(value) ?? value) })

function isTimeToCome(value: unknown): boolean {
  try {
    return typeof value === 'string' && dayEnd(value) !== ''
  } catch {
    return false
  }
}
