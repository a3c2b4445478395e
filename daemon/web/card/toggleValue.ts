/** Returns a list without a value, or with it at the end if it is not in the list. */
export const toggleValue = <T>(values: readonly T[], value: T): T[] =>
  values.includes(value) ? values.filter(each => each !== value) : [...values, value]
