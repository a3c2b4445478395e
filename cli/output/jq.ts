import { Failure } from '../failures/failure.ts'

/**
 * Compiles a jq expression to a function from one value to its results. Uses the real jq, compiled to WebAssembly. The function throws
 * Failure: (usage) if the expression is invalid, (failure) if it does not apply to the value.
 */
export async function compileJq(expression: string): Promise<(input: unknown) => unknown[]> {
  const { JqError, loadJq } = await import('jq-wasm')
  const jq = await loadJq()
  return input => {
    try {
      // The space prevents an expression that starts with a minus from being parsed as an option.
      return jq.json(input as object | null, ` ${expression}`)
    } catch (error) {
      if (!(error instanceof JqError)) throw error
      const [line = 'it failed'] = error.stderr.replace(/^jq: error(?: \(at [^)]*\))?: /, '').split('\n')
      throw new Failure(
        error.exitCode === 3 ? 'usage' : 'failure',
        `--jq: ${line.replace(/ at <top-level>, line \d+.*$/, '')}`,
        { see: 'board help formatting' },
      )
    }
  }
}
