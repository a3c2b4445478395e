/** How clients enter and show a field of a card's plan. */
interface PlanField {
  label: string
  /** `day` is a time that people enter as a day, which means its end. */
  kind: 'choice' | 'day' | 'time' | 'number'
  /** The value of a card if none is set. */
  default: string | null
  /** The values of a choice, the lowest first. */
  values?: readonly string[]
  /** The prefix of a choice's values in a filter: `!high`. */
  sign?: string
}

/**
 * The fields of a card's plan. The command line, the terminal board and the page read this table. It is free of schemas, which the
 * page would otherwise load. A choice's name is one word, because its column and options have the same name.
 */
export const planFields = {
  priority: {
    label: 'Priority',
    kind: 'choice',
    values: ['low', 'normal', 'high', 'urgent'],
    default: 'normal',
    sign: '!',
  },
  dueAt: { label: 'Due date', kind: 'day', default: null },
  startAt: { label: 'Start', kind: 'time', default: null },
  estimate: { label: 'Estimate', kind: 'number', default: null },
} as const satisfies Readonly<Record<string, PlanField>>

type PlanFields = typeof planFields
export type PlanFieldName = keyof PlanFields
export type ChoiceName = {
  [Name in PlanFieldName]: PlanFields[Name]['kind'] extends 'choice' ? Name : never
}[PlanFieldName]
export type ChoiceValue<Name extends ChoiceName> = PlanFields[Name]['values'][number]
/** Selects only cards with these values. */
export type ChoiceFilter = { [Name in ChoiceName]?: ChoiceValue<Name> }

export const planFieldNames = Object.keys(planFields) as readonly PlanFieldName[]
export const isChoice = (name: PlanFieldName): name is ChoiceName => planFields[name].kind === 'choice'
export const choiceNames = planFieldNames.filter(isChoice)

export const mapChoices = <Value>(valueOf: (name: ChoiceName) => Value): Record<ChoiceName, Value> =>
  Object.fromEntries(choiceNames.map(name => [name, valueOf(name)])) as Record<ChoiceName, Value>

/** The values of a choice, the highest first. */
export const choiceValues = <Name extends ChoiceName>(name: Name): ChoiceValue<Name>[] =>
  [...planFields[name].values].toReversed()

/** `urgent, high, normal or low`. */
export const choiceWords = (name: ChoiceName): string =>
  choiceValues(name)
    .join(', ')
    .replace(/, (?=\w+$)/, ' or ')

/** Whether a field can have no value. */
export const isClearable = (name: PlanFieldName): boolean => planFields[name].default === null

/** The name of a field within a sentence. */
export const planWord = (name: PlanFieldName): string => planFields[name].label.toLowerCase()
