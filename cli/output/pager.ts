/**
 * Shows text through PAGER, `less` by default. Writes the text directly if there is no pager, or if PAGER is empty or
 * `cat`.
 */
export async function page(
  text: string,
  pager: string | undefined,
  write: (text: string) => void,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const command = env.PAGER ?? pager ?? 'less'
  if (command.trim() === '' || command.trim() === 'cat' || env.TERM === 'dumb') return write(text)
  const { execa } = await import('execa')
  const { exitCode, signal } = await execa(command, {
    shell: true,
    input: text,
    stdout: 'inherit',
    stderr: 'inherit',
    env: { ...env, LESS: env.LESS ?? 'FRX', LV: env.LV ?? '-c' },
    extendEnv: false,
    reject: false,
  })
  const wasShown = signal !== undefined || (exitCode !== undefined && exitCode !== 127)
  if (!wasShown) write(text)
}
