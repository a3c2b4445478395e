import { spawn } from 'node:child_process'

/** Shows text through PAGER, `less` by default; writes it as it is when there is no pager or it is `cat` or empty. */
export async function page(
  text: string,
  pager: string | undefined,
  write: (text: string) => void,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const command = env.PAGER ?? pager ?? 'less'
  if (command.trim() === '' || command.trim() === 'cat' || env.TERM === 'dumb') return write(text)
  const shown = await new Promise<boolean>(resolve => {
    const child = spawn(command, {
      shell: true,
      stdio: ['pipe', 'inherit', 'inherit'],
      env: { ...env, LESS: env.LESS ?? 'FRX', LV: env.LV ?? '-c' },
    })
    child.on('error', () => resolve(false))
    child.on('close', code => resolve(code !== 127))
    child.stdin.on('error', () => {
      /* The person left the pager before its end. */
    })
    child.stdin.end(text)
  })
  if (!shown) write(text)
}
