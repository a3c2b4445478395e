import { useId, useState, type ButtonHTMLAttributes, type ReactNode, type Ref } from 'react'
import { dismiss, showError } from '../app/messages.ts'
import { Icon, type IconName } from './Icon.tsx'
import { tooltip } from './tooltip.ts'

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'onClick'> {
  children?: ReactNode
  ref?: Ref<HTMLButtonElement>
  icon?: IconName
  /** The accessible name of a button that shows only an icon. Also shown as a tooltip. */
  label?: string
  /** Additional information, shown as a tooltip. */
  about?: string
  /** The shortcut of the button: `Ctrl-K`. */
  keys?: string
  /** The primary button. */
  isMain?: boolean
  /** The button destroys data. */
  isDanger?: boolean
  /** Without a border, for rows of tools. */
  isPlain?: boolean
  /** While the promise is pending, the button is busy. If the promise rejects, shows the error. */
  onClick?: () => void | Promise<unknown>
}

export function Button({
  children,
  icon,
  label,
  about,
  keys,
  isMain,
  isDanger,
  isPlain,
  onClick,
  className,
  disabled,
  ...rest
}: ButtonProps) {
  const [isBusy, setBusy] = useState(false)
  const id = useId()
  const run = async () => {
    if (isBusy) return
    dismiss(id)
    const work = onClick?.()
    if (!(work instanceof Promise)) return
    setBusy(true)
    try {
      await work
    } catch (error) {
      showError(error, id)
    } finally {
      setBusy(false)
    }
  }
  const names = ['button', isMain && 'main', isDanger && 'danger', isPlain && 'plain', !children && 'square', className]
  return (
    <button
      type="button"
      {...tooltip(about ?? label, { keys, isName: about === undefined })}
      {...rest}
      className={names.filter(Boolean).join(' ')}
      aria-label={rest['aria-label'] ?? label}
      aria-busy={isBusy || rest['aria-busy']}
      // A button that is disabled loses the focus.
      aria-disabled={isBusy || rest['aria-disabled']}
      disabled={disabled}
      onClick={onClick && (() => void run())}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}
