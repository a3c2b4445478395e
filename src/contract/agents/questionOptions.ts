/**
 * The option that an approval of an agent's question selects. Undefined if no option or more than one allows the request once. In this
 * case, a person must choose an option, because each one is a different answer.
 */
export function approvingOption<T extends { kind: string }>(options: readonly T[]): T | undefined {
  const [only, another] = options.filter(({ kind }) => kind === 'allow_once')
  return another ? undefined : only
}

/** Whether a question has several answers, so that an approval does not select one. */
export const hasSeveralAnswers = (options: ReadonlyArray<{ kind: string }>): boolean =>
  options.filter(({ kind }) => kind === 'allow_once').length > 1
