import { useRef } from 'react'
import { announce, showMessage } from '../app/messages.ts'
import { Button } from './Button.tsx'
import { Dialog } from './Dialog.tsx'
import { Field } from './Field.tsx'

interface SecretProps {
  /** The name of the secret: "API key". */
  label: string
  value: string
  /** The purpose of the secret, and that it is not shown again. */
  hint?: string
}

/** A secret value with a copy button. */
export function Secret({ label, value, hint }: SecretProps) {
  const input = useRef<HTMLInputElement>(null)
  const copy = async () => {
    await copyText(value, input.current!)
    announce('Copied.')
    showMessage(`${label}: copied`)
  }
  return (
    <Field label={label} hint={hint}>
      {props => (
        <div className="secret">
          <input
            {...props}
            ref={input}
            readOnly
            spellCheck={false}
            autoComplete="off"
            value={value}
            onFocus={({ target }) => target.select()}
          />
          <Button onClick={copy} aria-label={`Copy: ${label}`}>
            Copy
          </Button>
        </div>
      )}
    </Field>
  )
}

/** A secret, and the title of its dialog. */
export type ShownSecret = SecretProps & { title: string }

/**
 * A secret that the server shows this once. Only the button closes the dialog, so that the secret is not lost by
 * accident.
 */
export function SecretDialog({ title, onClose, ...secret }: ShownSecret & { onClose: () => void }) {
  return (
    <Dialog title={title}>
      <div className="form">
        <Secret hint="This value is shown only once. Copy it now." {...secret} />
        <div className="buttons">
          <Button isMain onClick={onClose}>
            I have copied it
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

/** Copies a text. Pages over plain HTTP from another machine have no clipboard API, so the selected text is copied instead. */
async function copyText(text: string, shown: HTMLInputElement): Promise<void> {
  if (window.isSecureContext) return navigator.clipboard.writeText(text)
  shown.select()
  if (!document.execCommand('copy'))
    throw new Error('The browser does not allow copying. Copy the selected text manually.')
}
