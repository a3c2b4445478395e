import { useRef, useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { announce, showError, showMessage } from '../app/messages.ts'
import { client, reloadAll } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Check } from '../ui/Inputs.tsx'
import { Menu } from '../ui/Menu.tsx'
import { Await } from '../ui/Page.tsx'
import { saveFile } from '../ui/saveFile.ts'
import { formatTime } from '../ui/Time.tsx'
import { Table } from '../ui/Table.tsx'
import { tooltip } from '../ui/tooltip.ts'

type Backup = Output<Contract['backups']['list']>[number]

const origins = { request: 'manual', timetable: 'timetable', restore: 'before a restore', upload: 'uploaded' }

/** The backups that are on the server. */
export function Backups() {
  const loaded = useLoad(() => client.backups.list(), [])
  const [withKey, setWithKey] = useState(false)
  const { progress, setProgress, withProgress } = useProgress(loaded.reload)
  const make = () =>
    withProgress('Backing up the database and the attachments…', async () => {
      const { filename } = await client.backups.create({ withKey })
      showMessage(`Created and verified ${filename}.`)
    })
  const upload = (file: File) =>
    withProgress(`Uploading ${file.name}…`, async () => {
      const onProgress = (sent: number, total: number) =>
        setProgress({
          text: sent < total ? `Uploading ${file.name}…` : 'The server is verifying the backup…',
          value: sent / total,
        })
      const { filename } = await client.backups.upload({ file: { file, filename: file.name, onProgress } })
      showMessage(`Uploaded and verified ${filename}.`)
    })
  return (
    <>
      <Check
        label="Include the key"
        hint="The key decrypts stored secrets. Without the key, a restore on another machine cannot read them. With the key, keep the file as secret as the secrets."
        value={withKey}
        onChange={setWithKey}
      />
      <div className="tools">
        <Button isMain onClick={make} disabled={progress !== undefined}>
          Create backup
        </Button>
        <Upload isDisabled={progress !== undefined} send={file => void upload(file).catch(showError)} />
      </div>
      {progress && (
        <div className="notice" role="status">
          <span>{progress.text}</span>
          <progress aria-label={progress.text} value={progress.value} />
        </div>
      )}
      <Await of={loaded}>
        {all =>
          all.length === 0 ? (
            <p>No backups yet. Create a backup so that you can restore this data.</p>
          ) : (
            <Table label="Backups" head={['File', 'Created', 'Size', 'Reason', 'Verified', '']}>
              {all.map(backup => (
                <BackupRow key={backup.filename} backup={backup} withProgress={withProgress} />
              ))}
            </Table>
          )
        }
      </Await>
    </>
  )
}

/** The running operation and its progress. */
function useProgress(reload: () => Promise<void>) {
  const [progress, setProgress] = useState<{ text: string; value?: number }>()
  const withProgress = async (text: string, run: () => Promise<unknown>) => {
    setProgress({ text })
    announce(text)
    try {
      await run()
      await reload()
    } finally {
      setProgress(undefined)
    }
  }
  return { progress, setProgress, withProgress }
}

function Upload({ isDisabled, send }: { isDisabled: boolean; send: (file: File) => void }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <Button disabled={isDisabled} onClick={() => input.current!.click()}>
        Upload backup
      </Button>
      <input
        ref={input}
        hidden
        type="file"
        aria-label="Backup file"
        accept=".gz"
        onChange={({ target }) => {
          const [file] = target.files ?? []
          if (file) send(file)
          target.value = ''
        }}
      />
    </>
  )
}

function BackupRow({
  backup: { filename, createdAt, size, origin, verified, withKey, version, sha256 },
  withProgress,
}: {
  backup: Backup
  withProgress: (text: string, run: () => Promise<unknown>) => Promise<void>
}) {
  const restore = () =>
    confirm({
      title: `Restore ${filename}`,
      text: `This restores all projects, cards, accounts and settings from ${formatTime(createdAt)}. The current data is kept as a separate backup. Running agents are stopped, and all other people must sign in again.`,
      submit: 'Restore',
      typed: filename,
      run: async () => {
        const { keptAs } = await client.backups.restore({ filename })
        showMessage(`Restored the backup. The previous data is in ${keptAs}.`)
        reloadAll()
      },
    })
  const remove = () =>
    confirm({
      title: `Delete ${filename}`,
      text: 'This permanently deletes the backup. The current data is unchanged.',
      submit: 'Delete',
      run: () => withProgress('Deleting…', () => client.backups.delete({ filename })),
    })
  const download = () =>
    withProgress(`Downloading ${filename}…`, async () =>
      saveFile({ ...(await client.backups.download({ filename })), filename }),
    )
  return (
    <tr>
      <td>
        <code {...tooltip(`SHA-256: ${sha256}`)}>{filename}</code>
        <div className="dim">
          board {version}
          {withKey && ', with the key'}
        </div>
      </td>
      <td>{formatTime(createdAt)}</td>
      <td>{sizeOf(size)}</td>
      <td>{origins[origin]}</td>
      <td>{verified ? 'yes' : 'no'}</td>
      <td>
        <Menu
          label={`Actions for ${filename}`}
          items={[
            { label: 'Download', run: download },
            { label: 'Restore…', run: restore },
            { label: 'Delete…', run: remove, isDanger: true },
          ]}
        />
      </td>
    </tr>
  )
}

function sizeOf(bytes: number): string {
  if (bytes < 1_000_000) return `${Math.ceil(bytes / 1000)} kB`
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
}
