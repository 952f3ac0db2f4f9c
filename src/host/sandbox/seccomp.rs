//! seccomp: which calls of the system a process and all that it starts may make (Linux, `seccomp(2)`).
//!
//! What is not named here is allowed: programs of all kinds run in it. Programs of another architecture (32 bits) are
//! ended by the filter.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

/// Other processes, the system as a whole, what loads code into it, what gets around other limits.
const REFUSED: &[i64] = &[
    // Other processes: their memory, their files, keys and memory that are shared with them.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semctl,
    libc::SYS_semop,
    libc::SYS_msgget,
    libc::SYS_msgctl,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_mq_open,
    // A process stays in its group: that is how all of a command is ended at once, however fast it multiplies.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    // What files there are.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    // The system.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_vhangup,
];

/// Bits of `clone(2)` that make namespaces, in which a process is the superuser.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Kinds of sockets where the network may be used: the last asks which addresses this machine has.
const NETWORK: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// The bits of a socket's type that are not flags.
const TYPE: u64 = 0xf;

/// Whoever may run a file with these bits is its owner, or of its group, while it runs.
const SET_ID: [u64; 2] = [0o4000, 0o2000];

/// Which numbers the calls have.
const MACHINE: TargetArch = if cfg!(target_arch = "x86_64") { TargetArch::x86_64 } else { TargetArch::aarch64 };

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Confines this thread, and so the program that it becomes. `can_truncate` without opening a file first.
pub(super) fn confine(network: bool, can_truncate: bool) -> Result<(), String> {
    let filtered = refused(network, can_truncate).and_then(|rules| {
        // What is refused of `clone3` stands in memory, where a filter does not see it. Without it `clone` is used.
        let clone3 = [(libc::SYS_clone3, Vec::new())].into_iter().collect();
        Ok([program(rules, libc::EPERM)?, program(clone3, libc::ENOSYS)?])
    });
    let programs = filtered.map_err(|error| format!("seccomp: {error}"))?;
    programs.iter().try_for_each(|program| apply_filter(program)).map_err(|error| format!("seccomp: {error}"))
}

fn refused(network: bool, can_truncate: bool) -> Result<Rules, BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    if !can_truncate {
        rules.insert(libc::SYS_truncate, Vec::new());
    }
    for flag in NAMESPACES {
        let flag = u64::try_from(flag).unwrap_or_default();
        rules.entry(libc::SYS_clone).or_default().push(bits(0, flag, flag)?);
    }
    for bit in SET_ID {
        rules.entry(libc::SYS_fchmod).or_default().push(bits(1, bit, bit)?);
        for call in [libc::SYS_fchmodat, SYS_FCHMODAT2] {
            rules.entry(call).or_default().push(bits(2, bit, bit)?);
        }
    }
    // Limits of another process.
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![condition(0, SeccompCmpOp::Ne, 0)?])?]);
    let kinds: &[i32] = if network { &NETWORK } else { &NETWORK[..1] };
    let others = kinds.iter().map(|kind| condition(0, SeccompCmpOp::Ne, u64::try_from(*kind).unwrap_or_default()));
    let mut sockets = vec![SeccompRule::new(others.collect::<Result<_, _>>()?)?];
    if !network {
        // A service of this machine (D-Bus, Docker) does much for whoever reaches its socket, and Landlock cannot
        // refuse those that are files before Linux 7.1.
        rules.insert(libc::SYS_connect, Vec::new());
        let datagram = u64::try_from(libc::SOCK_DGRAM).unwrap_or_default();
        sockets.push(bits(1, TYPE, datagram)?);
    }
    rules.insert(libc::SYS_socketpair, sockets.clone());
    rules.insert(libc::SYS_socket, sockets);
    of_this_machine(&mut rules)?;
    Ok(rules)
}

/// `fchmodat2(2)`, Linux 6.6: one number on all machines.
const SYS_FCHMODAT2: i64 = 452;

/// What only some kinds of machines have.
#[cfg(target_arch = "x86_64")]
fn of_this_machine(rules: &mut Rules) -> Result<(), BackendError> {
    for call in [libc::SYS_kexec_file_load, libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt] {
        rules.insert(call, Vec::new());
    }
    for bit in SET_ID {
        rules.entry(libc::SYS_chmod).or_default().push(bits(1, bit, bit)?);
    }
    // The same calls by their numbers in the x32 convention, and those that have numbers of their own there.
    const X32: i64 = 0x4000_0000;
    const OWN: [i64; 5] = [521, 528, 539, 540, 544];
    let same: Vec<_> = rules.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
    rules.extend(same);
    rules.extend(OWN.map(|call| (call | X32, Vec::new())));
    Ok(())
}

#[cfg(not(target_arch = "x86_64"))]
fn of_this_machine(rules: &mut Rules) -> Result<(), BackendError> {
    rules.insert(libc::SYS_kexec_file_load, Vec::new());
    Ok(())
}

fn program(rules: Rules, error: i32) -> Result<BpfProgram, BackendError> {
    let error = u32::try_from(error).unwrap_or_default();
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(error), MACHINE)?.try_into()
}

/// Some bits of an argument are these.
fn bits(argument: u8, mask: u64, value: u64) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![condition(argument, SeccompCmpOp::MaskedEq(mask), value)?])
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}
