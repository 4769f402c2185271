#!/bin/bash
# The first process of a host, inside of namespaces of its own (mounts, processes, network, name): its root is
# this machine's, read only, under a disk of its own. Everything it does ends with it.
#
# host.sh NAME DISK SIZE SHARED: DISK is an empty folder to mount on, SHARED is seen by all hosts as /shared.
set -euo pipefail
name=$1 disk=$2 size=$3 shared=$4

mount --make-rprivate /
mount -t tmpfs -o "size=$size,mode=755" disk "$disk"
mkdir -p "$disk"/{upper,work,root}
root=$disk/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$disk/upper,workdir=$disk/work" "$root"

for place in tmp home run; do
  mkdir -p "$disk/own/$place" "$root/$place"
  mount --bind "$disk/own/$place" "$root/$place"
done
chmod 1777 "$root/tmp"
mkdir -p "$root"/{shared,old_root,proc,sys,run/sshd,home/ray}
mount --bind "$shared" "$root/shared"
mount -t proc proc "$root/proc"
mount -t sysfs sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o size=16g shm "$root/dev/shm"
cp "$shared"/.hosts/sshd_config "$shared"/.hosts/host_key "$shared"/.hosts/authorized_keys "$root/etc/ssh/"
cp "$shared"/.hosts/profile.sh "$root/etc/profile.d/zz_profile.sh"
chmod 600 "$root"/etc/ssh/{host_key,authorized_keys}
cd "$root"
pivot_root . old_root
umount -l /old_root

hostname "$name"
printf '127.0.0.1 localhost\n' > /etc/hosts
: > /etc/resolv.conf # or each name is asked for, and waited for, outside
# the user of the cluster files; its home as in Ray's images, which they are made for
sed -i '1i ubuntu:x:0:0::/home/ray:/bin/bash' /etc/passwd
printf 'ubuntu:*:20000:0:99999:7:::\n' >> /etc/shadow
ip link set lo up
touch "/shared/.hosts/$name.up"
while :; do # the first process takes in those that others leave
  sleep 1 || true
done
