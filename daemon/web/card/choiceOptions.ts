import { choiceValues, isClearable, type ChoiceName, type ChoiceValue } from '../../../src/contract/cards/planFields.ts'

type Option<Value> = readonly [value: Value, text: string]

/** The selectable values of a choice. The empty value stands for none. */
export const choiceOptions = <Name extends ChoiceName>(name: Name): readonly Option<ChoiceValue<Name>>[] => [
  ...(isClearable(name) ? [['' as ChoiceValue<Name>, 'None'] as const] : []),
  ...choiceValues(name).map(value => [value, `${value[0]!.toUpperCase()}${value.slice(1)}`] as const),
]
