# shellcheck shell=bash
# Completion of sbx-runtime for bash.
#
# It asks the program itself: `--help` and `VERB --help` say which verbs, options, values and operands
# there are. So none is named here, and what is completed is what that very program takes.

# Read the help of the program, or of a verb, into the caller's arrays: the names of the options; of each
# spelling of an option the placeholder of its value and its help; the verbs; the operands.
_sbx_runtime_read_help() {
	local line spelling

	options=(--help) operands=() value=() help=()
	while IFS= read -r line; do
		if [[ $line =~ ^usage:\ [^\ ]+\ [^\ ]+\ \[OPTION\.\.\.\]\ (.*)$ ]]; then
			read -ra operands <<<"${BASH_REMATCH[1]//[\[\]]/}"
		elif [[ $line =~ ^\ \ (-[A-Za-z])?,?\ +(--[a-z0-9-]+)(\ ([^ ]+))?\ +(.*)$ ]]; then
			[ "${BASH_REMATCH[2]}" = --help ] || options+=("${BASH_REMATCH[2]}")
			for spelling in ${BASH_REMATCH[1]} "${BASH_REMATCH[2]}" "${BASH_REMATCH[2]#-}"; do
				value[$spelling]=${BASH_REMATCH[4]}
				help[$spelling]=${BASH_REMATCH[5]}
			done
		elif [[ $line =~ ^\ \ ([a-z]+)\ +[^\ ] ]]; then
			verbs+=("${BASH_REMATCH[1]}")
		fi
	done < <("$@" --help 2>/dev/null)
}

# Add what compgen finds.
_sbx_runtime_add() {
	mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen "$@" -- "$cur")
}

# Complete a placeholder such as "FILE|NAME" or "table|json". Where it is one word for several values, the
# help lists them: "error, warning, info or debug".
_sbx_runtime_complete() {
	local part parts list=${2%%;*}

	if [[ $list =~ ^[a-z]+(,\ [a-z]+)*\ or\ [a-z]+$ ]]; then
		list=${list//,/}
		_sbx_runtime_add -W "${list/ or / }"
		return
	fi
	IFS='|' read -ra parts <<<"$1"
	for part in "${parts[@]}"; do
		case ${part%...} in
		DIR | BUNDLE)
			compopt -o filenames
			_sbx_runtime_add -d
			;;
		FILE | PATH | PROFILE | ARG)
			compopt -o filenames
			_sbx_runtime_add -f
			;;
		CONTAINER) _sbx_runtime_add -W "$("${program[@]}" list --quiet 2>/dev/null)" ;;
		# What else bash knows is no signal: EXIT, "SIGJUNK(32)".
		SIGNAL) _sbx_runtime_add -A signal -X '!SIG*[A-Z0-9]' ;;
		*[!a-z0-9]*) ;;
		*) _sbx_runtime_add -W "$part" ;;
		esac
	done
}

_sbx_runtime() {
	local cur=${COMP_WORDS[COMP_CWORD]} word verb='' option='' equals=false options_end=false seen=0 i
	local -a program=("$1") verbs=() options operands
	local -A value help

	COMPREPLY=()
	_sbx_runtime_read_help "$1"
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		# bash cuts at "=": "--root=/x" and "NAME=VALUE" are three words here.
		if [ "$word" = = ]; then
			equals=true
		elif [ -n "$option" ]; then
			# The store decides which containers there are.
			[[ $verb$option != -root && $verb$option != --root ]] || program+=(--root "$word")
			option='' equals=false
		elif $equals; then
			equals=false
		elif ! $options_end && [ "$word" = -- ]; then
			options_end=true
		elif ! $options_end && [[ $word = -?* ]]; then
			[ -z "${value[$word]:-}" ] || option=$word
		elif [ -z "$verb" ]; then
			verb=$word
			_sbx_runtime_read_help "$1" "$verb"
		else
			seen=$((seen + 1))
			# Behind the first operand of a verb that takes any number stands what is not ours.
			[[ ${operands[*]} != *... ]] || options_end=true
		fi
	done
	if [ "$cur" = = ]; then
		cur='' equals=true
	fi
	if [ -n "$option" ]; then
		_sbx_runtime_complete "${value[$option]}" "${help[$option]}"
	elif $equals; then
		return
	elif ! $options_end && [[ $cur = -* ]]; then
		_sbx_runtime_add -W "${options[*]}"
	elif [ -z "$verb" ]; then
		_sbx_runtime_add -W "${verbs[*]}"
	elif [ "$seen" -lt ${#operands[@]} ]; then
		_sbx_runtime_complete "${operands[seen]}" ''
	elif [[ ${operands[*]} = *... ]]; then
		_sbx_runtime_complete "${operands[-1]}" ''
	fi
}

complete -F _sbx_runtime sbx-runtime
